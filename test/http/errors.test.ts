import t from 'tap'
import { HttpError, toHttpError } from '../../src/http/errors.ts'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/errors.ts'
import { breakCategories } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { startService } from '../support/service.ts'

t.test('the log has a line per request without secrets or probes, and the cause of an internal error', async (t) => {
  const { lines, logger } = recorder()
  const { app, auth, databaseUrl } = await startService(t, { logger })
  lines.length = 0
  await app.inject({ url: '/v1/categories?token=secret', headers: auth })
  for (const quiet of ['/livez', '/docs']) await app.inject(quiet)
  const request = { msg: 'request', method: 'GET', path: '/v1/categories', operation: 'listCategories', key: '1' }
  t.match(lines, [{ ...request, level: 30, status: 200, ms: Number, ip: '127.0.0.1' }])
  t.notMatch(JSON.stringify(lines), /secret|petcat_/)

  await breakCategories(databaseUrl)
  lines.length = 0
  const response = await app.inject({ url: '/v1/categories', headers: auth })
  t.same(response.json(), {
    code: 'internal_error',
    message: 'Internal error: quote the X-Request-Id when you report it',
    status: 500
  })
  const reqId = response.headers['x-request-id']
  t.match(lines, [
    { level: 50, reqId, msg: 'internal_error', err: { message: 'division by zero' } },
    { ...request, reqId, status: 500 }
  ])
})

t.test('errors of Fastify, its plugins and the database get the Error body of their status', (t) => {
  const inside = (error: object) => Object.assign(new Error('inside'), error)
  for (const [error, status, code, headers = {}] of [
    [inside({ code: 'ECONNRESET', statusCode: 400 }), 400, 'invalid_request'],
    [inside({ statusCode: 418 }), 400, 'invalid_request'],
    [inside({ statusCode: 403 }), 404, 'not_found'],
    [inside({ statusCode: 599 }), 500, 'internal_error'],
    [inside({}), 500, 'internal_error'],
    [new HttpError(429, 'rate_limited', 'Wait'), 429, 'rate_limited'],
    // SDKs must not send it again.
    [new OutcomeUnknown(undefined), 503, 'outcome_unknown', { 'x-should-retry': 'false' }],
    [new Unavailable(new Error()), 503, 'unavailable', { 'retry-after': '1' }]
  ] as const) {
    t.match(toHttpError(error), { status, code })
    t.same(toHttpError(error).headers, headers)
  }
  t.end()
})
