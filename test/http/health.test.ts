import t from 'tap'
import { query } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { startService } from '../support/service.ts'

const { lines, logger } = recorder()
const { app, databaseUrl } = await startService(t, { logger })

t.test('/livez and /readyz need no key', async (t) => {
  for (const url of ['/livez', '/readyz']) {
    const { statusCode, body } = await app.inject(url)
    t.equal(statusCode, 200)
    t.equal(body, '{"status":"ok"}')
  }
})

t.test('a service without its migrations or its database is alive but not ready', async (t) => {
  await query(databaseUrl, "DELETE FROM pgmigrations WHERE name = '0002_api_keys'")
  lines.length = 0
  await app.inject('/readyz')
  const pending = await app.inject('/readyz')
  t.equal(pending.statusCode, 503)
  t.match(pending.json(), { code: 'unavailable', status: 503 })
  t.equal(pending.headers['retry-after'], '1')

  await query(databaseUrl, "INSERT INTO pgmigrations (name, run_on) VALUES ('0002_api_keys', now())")
  t.equal((await app.inject('/readyz')).statusCode, 200)
  await app.inject('/readyz')
  t.match(lines, [{ msg: 'not ready' }, { msg: 'ready' }], 'the log has the changes only')

  const lost = await startService(t)
  const server = new URL(lost.databaseUrl)
  const name = server.pathname.slice(1)
  server.pathname = '/postgres'
  await query(server.href, `DROP DATABASE ${name} WITH (FORCE)`)
  t.equal((await lost.app.inject('/readyz')).statusCode, 503)
  t.equal((await lost.app.inject('/livez')).statusCode, 200)
})
