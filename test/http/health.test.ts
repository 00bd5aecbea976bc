import t from 'tap'
import { query } from '../support/database.ts'
import { startService } from '../support/service.ts'

t.test('/livez and /readyz need no key', async (t) => {
  const { app } = await startService(t)
  for (const url of ['/livez', '/readyz']) {
    const { statusCode, body } = await app.inject(url)
    t.equal(statusCode, 200)
    t.equal(body, '{"status":"ok"}')
  }
})

t.test('a service without its migrations, or without its database, lives but is not ready', async (t) => {
  const { app, databaseUrl } = await startService(t)
  await query(databaseUrl, "DELETE FROM pgmigrations WHERE name = '0002_api_keys'")
  const pending = await app.inject('/readyz')
  t.equal(pending.statusCode, 503)
  t.match(pending.json(), { code: 'unavailable', status: 503 })
  t.equal(pending.headers['retry-after'], '1')

  const { app: lost } = await startLost(t)
  t.equal((await lost.inject('/readyz')).statusCode, 503)
  t.equal((await lost.inject('/livez')).statusCode, 200)
})

async function startLost(t: Parameters<typeof startService>[0]) {
  const service = await startService(t)
  const { pathname } = new URL(service.databaseUrl)
  const server = new URL(service.databaseUrl)
  server.pathname = '/postgres'
  await query(server.href, `DROP DATABASE ${pathname.slice(1)} WITH (FORCE)`)
  return service
}
