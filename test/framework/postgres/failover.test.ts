import { connect, createServer } from 'node:net'
import t from 'tap'
import { createDatabase, openDatabase } from '../../support/database.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { startNotes, storedNotes } from '../../support/notes.ts'
import { startPair } from '../../support/postgres.ts'
import { startProxy } from '../../support/proxy.ts'
import { startClients } from '../../support/resend.ts'
import { until } from '../../support/until.ts'

t.test(
  'a failover behind the address of the primary loses no create',
  async (t) => {
    const pair = await startPair(t)
    const { primary, standby } = pair

    await pair.replicateSynchronously()
    const { url, key } = await startNotes(t, {
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
  }
)

t.test('a read-only server that never closes is rejected', async (t) => {
  const { port, url } = await startProxy(t, await createDatabase(t))
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(port, '127.0.0.1')
    client.pipe(upstream).pipe(client, { end: false })
    for (const socket of [client, upstream]) socket.on('error', () => {})
    t.teardown(() => client.destroy())
  })
  const address = new URL(url)
  address.port = String(await listenOnLoopback(t, server))
  address.searchParams.set('options', '-c default_transaction_read_only=on')

  const database = openDatabase(t, address.href, 1000)
  await t.rejects(database.run('reads', { text: 'SELECT' }), {
    code: 'unavailable',
    cause: { message: 'the server is read-only' }
  })
})
