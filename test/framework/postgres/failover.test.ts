import { connect, createServer } from 'node:net'
import t from 'tap'
import { openDatabase, query } from '../../support/database.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import {
  createNote,
  serviceName,
  startNotes,
  storedNotes
} from '../../support/notes.ts'
import { configure, startPair, startPostgres } from '../../support/postgres.ts'
import { codeOrStatus } from '../../support/requests.ts'
import { startClients } from '../../support/resend.ts'
import { until } from '../../support/until.ts'

t.test(
  'a failover behind the address of the primary loses no create',
  async (t) => {
    const pair = await startPair(t)
    const { primary, standby } = pair

    const database = openDatabase(t, standby.url)
    await t.rejects(database.run('reads', { text: 'SELECT' }), {
      code: 'unavailable',
      cause: { message: 'the server is read-only' }
    })
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

/** Why the check of a new connection fails, by what the server does. */
const rejections = {
  'the server is read-only': 'default_transaction_read_only = on',
  broken: 'search_path = public, pg_catalog'
}

for (const [message, setting] of Object.entries(rejections))
  t.test(`a server that never closes is rejected: ${message}`, async (t) => {
    const { url: primaryUrl } = await startPostgres(t)
    await query(
      primaryUrl,
      `CREATE FUNCTION current_setting(text) RETURNS text
       LANGUAGE plpgsql AS 'BEGIN RAISE ''broken''; END'`
    )
    await configure(primaryUrl, setting)
    const url = new URL(primaryUrl)
    const server = createServer({ allowHalfOpen: true }, (client) => {
      const upstream = connect(Number(primaryPort), url.hostname)
      client.pipe(upstream).pipe(client, { end: false })
      for (const socket of [client, upstream]) socket.on('error', () => {})
      t.teardown(() => client.destroy())
    })
    const { port: primaryPort } = url
    url.port = String(await listenOnLoopback(t, server))

    const database = openDatabase(t, url.href, 1000)
    const rejection = { code: 'unavailable', cause: { message } }
    await t.rejects(database.run('reads', { text: 'SELECT' }), rejection)
  })

t.test(
  'a primary that becomes read-only is unavailable until it accepts writes again',
  async (t) => {
    const primary = await startPostgres(t)
    const service = await startNotes(t, { databaseUrl: primary.url })
    const creates = (result: string | number) =>
      until(
        async () => (await codeOrStatus(createNote(service))) === result,
        `a create gets ${result}`
      )
    await creates(201)
    await configure(primary.url, 'default_transaction_read_only = on')
    await creates('unavailable')
    await configure(primary.url, 'default_transaction_read_only = off')
    await creates(201)
  }
)
