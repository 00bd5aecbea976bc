import t from 'tap'
import { Database } from '../../../src/framework/postgres/database.ts'
import { unusableDatabase } from '../../../src/framework/postgres/reasons.ts'
import { openDatabase, query, silent } from '../../support/database.ts'
import { createNote, startNotes, storedNotes } from '../../support/notes.ts'
import { configure, startPair, startPostgres } from '../../support/postgres.ts'
import { codeOrStatus } from '../../support/requests.ts'
import { startClients } from '../../support/resend.ts'
import { until } from '../../support/until.ts'

t.test(
  'a failover behind the address of the primary loses no create',
  async (t) => {
    const pair = await startPair(t)
    const { primary, standby } = pair
    await pair.replicateSynchronously()
    const { url, key, app } = await startNotes(t, { databaseUrl: pair.url })
    const clients = startClients([{ url, key }])
    await clients.stores(100)

    await primary.kill()
    await pair.promote()
    await clients.stores(100)
    t.same(await clients.stop(() => storedNotes(standby.url)), [])
    t.notOk(clients.failures['lost'], 'the service closed no connection')
    t.equal((await app.inject('/readyz')).statusCode, 200)
  }
)

t.test('a standby is rejected, and its connection closed', async (t) => {
  const { standby } = await startPair(t)
  const database = openDatabase(t, standby.url)
  await t.rejects(database.read({ text: 'SELECT' }), {
    code: 'unavailable',
    cause: { message: 'the server is read-only' }
  })

  const isClosed = async () => {
    const connections = await query(
      standby.url,
      `SELECT FROM pg_stat_activity WHERE application_name = 'service'`
    )
    return connections.length === 0
  }
  await until(isClosed, 'the connection is closed')
})

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

const severalServers = [
  'postgres://a:5432,b:5432/db',
  'postgres://user:p,w@a/db,postgres://user:p,w@b/db',
  'postgres://user:pw@a,b',
  'postgres:///db?host=a,b'
]

for (const url of severalServers) {
  t.test(`several servers are a mistake at start: ${url}`, (t) => {
    const config = { MAX_DATABASE_CONNECTIONS: 1, DATABASE_TIMEOUT_MS: 1000 }
    const open = () => {
      try {
        new Database(url, config, silent)
      } catch (error) {
        throw unusableDatabase(error)
      }
    }
    t.throws(open, {
      message:
        'DATABASE_URL cannot be used: it names several servers: write the ' +
        'one address that leads to the primary, such as that of HAProxy, ' +
        'or of the service -rw in Kubernetes'
    })
    t.end()
  })
}

t.test('a comma in a password is no second server', async () => {
  const config = { MAX_DATABASE_CONNECTIONS: 1, DATABASE_TIMEOUT_MS: 1000 }
  const url = 'postgres://user:a,b@localhost/db?application_name=x,y'
  await new Database(url, config, silent).close()
})
