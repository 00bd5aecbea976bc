import t from 'tap'
import { breakCategories } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { startService } from '../support/service.ts'

t.test('the log has a line per request without secrets or probes, and the cause of an internal error', async (t) => {
  const { lines, logger } = recorder()
  const { app, auth: headers, databaseUrl } = await startService(t, { logger })
  lines.length = 0
  for (const quiet of ['/livez', '/docs']) await app.inject(quiet)
  await app.inject({ url: '/v1/categories?token=secret', headers })
  await breakCategories(databaseUrl)
  const failed = await app.inject({ url: '/v1/categories', headers })
  t.match(failed.json(), { code: 'internal_error', status: 500 })

  const request = { msg: 'request', method: 'GET', path: '/v1/categories', operation: 'listCategories', key: '1' }
  const reqId = failed.headers['x-request-id']
  t.equal(lines.length, 3)
  t.match(lines, [
    { ...request, level: 30, status: 200, ms: Number, ip: '127.0.0.1' },
    { level: 50, reqId, msg: 'internal_error', err: { message: 'division by zero' } },
    { ...request, reqId, status: 500 }
  ])
  t.notMatch(JSON.stringify(lines), /secret|petcat_[0-9a-f]/)
})
