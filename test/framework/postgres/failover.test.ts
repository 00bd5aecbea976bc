import { connect, createServer } from 'node:net'
import t from 'tap'
import { openDatabase, query } from '../../support/database.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { serviceName, startNotes, storedNotes } from '../../support/notes.ts'
import { configure, startPair, startPostgres } from '../../support/postgres.ts'
import { startClients } from '../../support/resend.ts'
import { until } from '../../support/until.ts'

t.test(
  'a failover behind the address of the primary loses no create',
  async (t) => {
    const pair = await startPair(t)
    const { primary, standby } = pair

    const database = openDatabase(t, standby.url)
    await t.rejects(database.run('reads', { text: 'SELECT' }))
    const connections = `SELECT FROM pg_stat_activity
      WHERE application_name = '${serviceName}'`
    const isClosed = async () =>
      (await query(standby.url, connections)).length === 0
    await until(isClosed, 'the connection to the standby is closed')

    await pair.replicateSynchronously()
    const { url, key, app } = await startNotes(t, {
      databaseUrl: pair.url,
      config: { DATABASE_TIMEOUT_MS: 1000 }
    })
    const clients = startClients([{ url, key }])
    await clients.stores(100)

    // From now on, the primary has rows and keys that the standby lacks.
    await pair.isolate()
    const { failures } = clients
    await until(
      () => (failures['outcome_unknown'] ?? 0) >= 20,
      'clients send again what may be stored'
    )

    await primary.kill()
    await pair.promote()
    await clients.stores(100)
    t.same(await clients.stop(() => storedNotes(standby.url)), [])
    t.notOk(failures['lost'], 'the service closed no connection')
    t.equal((await app.inject('/readyz')).statusCode, 200)
  }
)

t.test('a read-only server that never closes is rejected', async (t) => {
  const primary = await startPostgres(t)
  await configure(primary.url, 'default_transaction_read_only = on')
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(primary.port, '127.0.0.1')
    client.pipe(upstream).pipe(client, { end: false })
    for (const socket of [client, upstream]) socket.on('error', () => {})
    t.teardown(() => client.destroy())
  })
  const url = new URL(primary.url)
  url.port = String(await listenOnLoopback(t, server))

  const database = openDatabase(t, url.href, 1000)
  const rejection = {
    code: 'unavailable',
    cause: { message: 'the server is read-only' }
  }
  await t.rejects(database.run('reads', { text: 'SELECT' }), rejection)
})
