import t from 'tap'
import { toHttpError } from '../../src/http/errors.ts'
import { OutcomeUnknown } from '../../src/postgres/errors.ts'
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

t.test('an SDK is told not to repeat a write whose outcome is unknown', (t) => {
  t.same(toHttpError(new OutcomeUnknown(undefined)).headers, { 'x-should-retry': 'false' })
  t.end()
})
