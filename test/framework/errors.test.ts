import Fastify, { type HTTPMethods } from 'fastify'
import t from 'tap'
import { badRequest, unavailable } from '../../src/framework/errors.ts'
import {
  sendError,
  toHttpError
} from '../../src/framework/http/error-responses.ts'
import { OutcomeUnknown } from '../../src/framework/postgres/failures.ts'

t.test('an error of a plugin has the Error body, without details', (t) => {
  const ofPlugin = { statusCode: 599, code: 'FST_ERR_X', message: 'secret' }
  for (const thrown of [ofPlugin, undefined]) {
    const { body } = toHttpError(thrown)
    t.match(body, { status: 500, code: 'internal_error' })
    t.notMatch(body.message, 'secret')
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
  ['DELETE', {}, true],
  ['POST', {}, false],
  ['POST', { 'idempotency-key': 'x' }, true]
]

for (const [method, headers, isRepeated] of requests) {
  t.test(`what to repeat: ${method} ${JSON.stringify(headers)}`, async (t) => {
    const advice = [String(isRepeated), isRepeated ? '1' : undefined]
    for (const [failure, expected] of [
      [new Error(), advice],
      [new OutcomeUnknown(undefined), advice],
      [unavailable, [undefined, '1']],
      [badRequest('x'), [undefined, undefined]]
    ] as const) {
      const app = Fastify()
      app.setErrorHandler(sendError)
      app.decorateRequest('errorCode', undefined)
      app.route({ method, url: '/', handler: () => Promise.reject(failure) })

      const { headers: sent } = await app.inject({ method, url: '/', headers })
      t.same([sent['x-should-retry'], sent['retry-after']], expected)
    }
  })
}
