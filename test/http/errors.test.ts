import t from 'tap'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/errors.ts'
import { HttpError, toHttpError } from '../../src/http/errors.ts'
import { breakCategories } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { startService } from '../support/service.ts'

t.test('a fault of ours is a 500 that tells nothing of the inside, and the log has the cause', async (t) => {
  const { lines, logger } = recorder()
  const { app, auth, databaseUrl } = await startService(t, { logger })
  await breakCategories(databaseUrl)
  lines.length = 0
  const response = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(response.statusCode, 500)
  t.same(response.json(), {
    code: 'internal_error',
    message: 'Something went wrong on our side; quote the X-Request-Id when you report it',
    status: 500
  })
  const reqId = response.headers['x-request-id']
  t.match(lines, [
    { level: 50, reqId, msg: 'internal_error', err: { message: 'division by zero' } },
    { level: 30, reqId, msg: 'request', status: 500, operation: 'listCategories', key: '1' }
  ])
})

t.test('the log has one line a request, without its query, its headers or a successful probe', async (t) => {
  const { lines, logger } = recorder()
  const { app, auth } = await startService(t, { logger })
  lines.length = 0
  await app.inject({ url: '/v1/categories?token=secret', headers: auth })
  await app.inject('/livez')
  await app.inject('/docs')
  t.match(lines, [{ msg: 'request', method: 'GET', path: '/v1/categories', status: 200, ms: Number, ip: '127.0.0.1' }])
  t.notMatch(JSON.stringify(lines), /secret|petcat_/)
})

t.test('errors of Fastify and its plugins become the Error body of their status', (t) => {
  const answer = (error: object) => {
    const { status, code } = toHttpError(Object.assign(new Error('inside'), error))
    return `${status} ${code}`
  }
  t.equal(answer({ code: 'FST_ERR_CTP_INVALID_CONTENT_LENGTH', statusCode: 400 }), '400 invalid_request')
  t.equal(answer({ code: 'ECONNRESET', statusCode: 400 }), '400 invalid_request')
  t.equal(answer({ statusCode: 418 }), '400 invalid_request')
  t.equal(answer({ statusCode: 412 }), '412 precondition_failed')
  t.equal(answer({ statusCode: 416 }), '416 range_not_satisfiable')
  t.equal(answer({ statusCode: 403 }), '404 not_found')
  t.equal(answer({ statusCode: 599 }), '500 internal_error')
  t.equal(answer({}), '500 internal_error')
  const own = new HttpError(429, 'rate_limited', 'Wait')
  t.equal(toHttpError(own), own)
  t.end()
})

t.test('an unknown outcome forbids SDKs to send the request again, and an outage lets them', (t) => {
  t.same(toHttpError(new OutcomeUnknown(undefined)).headers, { 'x-should-retry': 'false' })
  t.same(toHttpError(new Unavailable(undefined)).headers, { 'retry-after': '1' })
  t.end()
})
