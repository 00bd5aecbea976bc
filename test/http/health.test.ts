import t from 'tap'
import { query } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { startService } from '../support/service.ts'

t.test('a service without its migrations or its database is alive but not ready', async (t) => {
  const { lines, logger } = recorder()
  const { app, databaseUrl } = await startService(t, { logger })
  for (const url of ['/livez', '/readyz']) t.match(await app.inject(url), { statusCode: 200, body: '{"status":"ok"}' })

  await query(databaseUrl, "DELETE FROM pgmigrations WHERE name = '0002_api_keys'")
  lines.length = 0
  await app.inject('/readyz')
  const pending = await app.inject('/readyz')
  t.match(pending.json(), { code: 'unavailable', status: 503 })
  t.equal(pending.headers['retry-after'], '1')
  await query(databaseUrl, "INSERT INTO pgmigrations (name, run_on) VALUES ('0002_api_keys', now())")
  for (let count = 0; count < 2; count++) t.equal((await app.inject('/readyz')).statusCode, 200)
  t.match(lines, [{ msg: 'not ready' }, { msg: 'ready' }], 'the log has the changes only')

  const server = new URL(databaseUrl)
  const name = server.pathname.slice(1)
  server.pathname = '/postgres'
  await query(server.href, `DROP DATABASE ${name} WITH (FORCE)`)
  t.equal((await app.inject('/readyz')).statusCode, 503)
  t.equal((await app.inject('/livez')).statusCode, 200)
})
