import t from 'tap'
import { migrate, query } from '../support/database.ts'
import { startLoad } from '../support/load.ts'
import { startPostgres, startStandby } from '../support/postgres.ts'
import { startProxy } from '../support/proxy.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const connections = "SELECT FROM pg_stat_activity WHERE application_name = 'pet-categories'"

/** Changes a setting of a server that may be read-only. */
async function set(url: string, setting: string) {
  await query(url, `ALTER SYSTEM SET ${setting}`)
  await query(url, 'SELECT pg_reload_conf()')
}

t.test('of several servers only the primary is used, also after a failover, which loses no create', async (t) => {
  const primary = await startPostgres(t)
  const standby = await startStandby(t, primary.url)
  await until(
    async () => (await query(primary.url, 'SELECT FROM pg_stat_replication')).length > 0,
    'the standby follows'
  )
  await set(primary.url, "synchronous_standby_names = '*'")
  // The first server accepts connections and never responds.
  const silent = await startProxy(t, primary.url)
  silent.state.isSilent = true
  const databaseUrl = [silent.url, standby.url, primary.url].join(', ')
  await migrate(databaseUrl)
  const { url, key, app } = await startService(t, { databaseUrl })
  const load = startLoad(url, key)
  await load.acknowledges(100)
  t.same(await query(standby.url, connections), [])

  await primary.kill()
  await query(standby.url, 'SELECT pg_promote()')
  await load.acknowledges(100)
  await load.stop()
  t.equal((await app.inject('/readyz')).statusCode, 200)
  t.same(load.lost, [])
  const stored = (await query(standby.url, 'SELECT name FROM categories')).map(({ name }) => String(name))
  t.equal(new Set(stored).size, stored.length)
  t.same(
    load.acknowledged.filter((name) => !stored.includes(name)),
    []
  )
})

t.test('a primary that becomes read-only is unavailable until it accepts writes again', async (t) => {
  const primary = await startPostgres(t)
  const { app, auth: headers } = await startService(t, { databaseUrl: primary.url })
  const create = () => app.inject({ method: 'POST', url: '/v1/categories', headers, payload: { name: 'x' } })
  t.equal((await create()).statusCode, 201)
  await set(primary.url, 'default_transaction_read_only = on')
  await until(async () => (await create()).statusCode !== 201, 'the server is read-only')
  t.match((await create()).json(), { code: 'unavailable' })
  await set(primary.url, 'default_transaction_read_only = off')
  await until(async () => (await create()).statusCode === 201, 'the server accepts writes')
})
