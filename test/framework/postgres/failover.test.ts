import t from 'tap'
import { PrimaryPool } from '../../../src/framework/postgres/primary-pool.ts'
import { createDatabase, migrate, query } from '../../support/database.ts'
import { notOnce } from '../../support/installation.ts'
import {
  createNote,
  loadNotes,
  startNotes,
  storedNames,
  serviceName
} from '../../support/notes.ts'
import { configure, startPair, startPostgres } from '../../support/postgres.ts'
import { startProxy } from '../../support/proxy.ts'
import { codeOrStatus } from '../../support/requests.ts'
import { until } from '../../support/until.ts'

const connections = `SELECT FROM pg_stat_activity WHERE application_name = '${serviceName}'`

t.test(
  'only the primary is used, and a failover loses no create',
  async (t) => {
    const pair = await startPair(t)
    const { primary, standby } = pair
    await pair.replicateSynchronously()

    // The first server accepts connections and never responds.
    const silent = await startProxy(t, primary.url)
    silent.state.change = () => undefined
    const databaseUrl = [silent.url, standby.url, primary.url].join(', ')
    await migrate(databaseUrl)
    const { url, key, app } = await startNotes(t, { databaseUrl })
    const load = loadNotes(url, key)
    await load.acknowledges(100)
    t.same(await query(standby.url, connections), [])

    await primary.kill()
    await query(standby.url, 'SELECT pg_promote()')
    await load.acknowledges(100)
    await load.stop()
    t.equal((await app.inject('/readyz')).statusCode, 200)

    const stored = await storedNames(standby.url)
    t.same(load.lost, [])
    t.same(notOnce([...load.acknowledged, ...stored], stored), [])
  }
)

t.test(
  'a primary that becomes read-only is unavailable until it accepts writes again',
  async (t) => {
    const primary = await startPostgres(t)
    const service = await startNotes(t, { databaseUrl: primary.url })
    t.equal(await codeOrStatus(createNote(service)), 201)

    await configure(primary.url, 'default_transaction_read_only = on')
    await until(
      async () => (await codeOrStatus(createNote(service))) === 'unavailable',
      'the server is read-only'
    )
    await configure(primary.url, 'default_transaction_read_only = off')
    await until(
      async () => (await codeOrStatus(createNote(service))) === 201,
      'the server accepts writes'
    )
  }
)

t.test(
  'of two servers the second is used if the first is silent',
  async (t) => {
    const url = await createDatabase(t)
    const silent = await startProxy(t, url)
    silent.state.change = () => undefined
    const pool = new PrimaryPool(`${silent.url},${url}`, 4000)

    const client = await pool.connect()
    client.release()
    await pool.end()
  }
)

t.test('a server is kept while all connections to it are in use', async (t) => {
  const url = await createDatabase(t)
  const first = await startProxy(t, url)
  const second = await startProxy(t, url)
  const pool = new PrimaryPool(`${first.url},${second.url}`, 4000, { max: 1 })

  const client = await pool.connect()
  await t.rejects(pool.connect(), { message: /timeout exceeded/ })
  client.release(true)
  const next = await pool.connect()
  next.release()
  t.equal(second.connections(), 0)
  await pool.end()
})
