import t from 'tap'
import { toHttpError } from '../../../src/framework/http/errors.ts'

const internal = 'Internal error: quote the X-Request-Id when you report it'

const invalid = 'The request is not valid HTTP/1.1'

/** What can be thrown, and the status and message of the response. */
const errors: [thrown: unknown, status: number, message: string][] = [
  [{ statusCode: 404, message: '/etc/secret' }, 500, internal],
  [{ statusCode: 400, code: 'ECONNRESET', message: 'aborted' }, 400, invalid],
  [{ statusCode: 599, code: 'FST_ERR_X', message: 'secret' }, 500, internal],
  ['a string', 500, internal],
  [undefined, 500, internal],
  [null, 500, internal]
]

t.test('an error of a plugin has the Error body, without details', (t) => {
  for (const [thrown, status, message] of errors) {
    const code = status === 500 ? 'internal_error' : 'invalid_request'
    t.same(toHttpError(thrown).body, { status, code, message })
  }
  t.end()
})
