import t from 'tap'
import { toHttpError } from '../../src/framework/http/error-responses.ts'

const internal =
  'Internal error; the request may have had an effect: quote the X-Request-Id when you report it'

/** What can be thrown. Only the connection of the client may be its fault. */
const errors = [
  Object.assign(new Error('another service has left'), { code: 'ECONNRESET' }),
  { statusCode: 599, code: 'FST_ERR_X', message: 'secret' },
  undefined
]

t.test('an error of a plugin has the Error body, without details', (t) => {
  for (const thrown of errors) {
    t.same(toHttpError(thrown).body, {
      status: 500,
      code: 'internal_error',
      message: internal
    })
  }
  t.end()
})
