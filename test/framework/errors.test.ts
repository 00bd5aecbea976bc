import Fastify, { type HTTPMethods } from 'fastify'
import t from 'tap'
import { badRequest, unavailable } from '../../src/framework/errors.ts'
import {
  sendError,
  toHttpError
} from '../../src/framework/http/error-responses.ts'
import { OutcomeUnknown } from '../../src/framework/postgres/failures.ts'

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

/** Requests, and whether to repeat them if they may have had an effect. */
const requests: [
  method: HTTPMethods,
  headers: Record<string, string>,
  isRepeated: boolean
][] = [
  ['GET', {}, true],
  ['PUT', {}, true],
  ['DELETE', {}, true],
  ['POST', {}, false],
  ['PATCH', {}, false],
  ['POST', { 'idempotency-key': 'x' }, true]
]

for (const [method, headers, isRepeated] of requests) {
  const after = isRepeated ? '1' : undefined
  const advice = [String(isRepeated), after]

  t.test(`what to repeat: ${method} ${JSON.stringify(headers)}`, async (t) => {
    const failures: [failure: Error, advice: unknown[]][] = [
      [new Error(), advice],
      [new OutcomeUnknown(undefined), advice],
      [unavailable, [undefined, '1']],
      [badRequest('x'), [undefined, undefined]]
    ]
    for (const [failure, expected] of failures) {
      const app = Fastify()
      app.setErrorHandler(sendError)
      app.decorateRequest('errorCode', undefined)
      app.route({ method, url: '/', handler: () => Promise.reject(failure) })

      const { headers: sent } = await app.inject({ method, url: '/', headers })
      t.same([sent['x-should-retry'], sent['retry-after']], expected)
    }
  })
}
