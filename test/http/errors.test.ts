import t from 'tap'
import { HttpError, toHttpError } from '../../src/http/errors.ts'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/errors.ts'
import { breakCategories } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { startService } from '../support/service.ts'

t.test('an internal error is a 500 that reveals nothing internal, and the log has the cause', async (t) => {
  const { lines, logger } = recorder()
  const { app, auth, databaseUrl } = await startService(t, { logger })
  await breakCategories(databaseUrl)
  lines.length = 0
  const response = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(response.statusCode, 500)
  t.same(response.json(), {
    code: 'internal_error',
    message: 'Internal error: quote the X-Request-Id when you report it',
    status: 500
  })
  const reqId = response.headers['x-request-id']
  t.match(lines, [
    { level: 50, reqId, msg: 'internal_error', err: { message: 'division by zero' } },
    { level: 30, reqId, msg: 'request', status: 500, operation: 'listCategories', key: '1' }
  ])
})

t.test('the log has one line per request, without its query, its headers or a successful probe', async (t) => {
  const { lines, logger } = recorder()
  const { app, auth } = await startService(t, { logger })
  lines.length = 0
  await app.inject({ url: '/v1/categories?token=secret', headers: auth })
  await app.inject('/livez')
  await app.inject('/docs')
  t.match(lines, [{ msg: 'request', method: 'GET', path: '/v1/categories', status: 200, ms: Number, ip: '127.0.0.1' }])
  t.notMatch(JSON.stringify(lines), /secret|petcat_/)
})

t.test('errors of Fastify, its plugins and the database get the Error body of their status', (t) => {
  const kindOf = (error: object) => {
    const { status, code } = toHttpError(Object.assign(new Error('inside'), error))
    return `${status} ${code}`
  }
  t.equal(kindOf({ code: 'ECONNRESET', statusCode: 400 }), '400 invalid_request')
  t.equal(kindOf({ statusCode: 418 }), '400 invalid_request')
  t.equal(kindOf({ statusCode: 403 }), '404 not_found')
  t.equal(kindOf({ statusCode: 599 }), '500 internal_error')
  t.equal(kindOf({}), '500 internal_error')
  const rateLimited = new HttpError(429, 'rate_limited', 'Wait')
  t.equal(toHttpError(rateLimited), rateLimited)
  t.same(
    toHttpError(new OutcomeUnknown(undefined)).headers,
    { 'x-should-retry': 'false' },
    'SDKs must not send it again'
  )
  t.same(toHttpError(new Unavailable(undefined)).headers, { 'retry-after': '1' }, 'clients may send it again')
  t.end()
})
