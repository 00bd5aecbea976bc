import t from 'tap'
import { startNotes, storedNotes } from '../../support/notes.ts'
import { startPostgres } from '../../support/postgres.ts'
import { checkLists, startClients } from '../../support/resend.ts'
import { scale } from '../../support/scale.ts'

// Only commits make transaction ids durable.
const settings = { wal_writer_delay: '10s', autovacuum: 'off' }
const postgres = await startPostgres(t, settings)

t.test(
  'lists show what was acknowledged, through restarts and kills',
  async (t) => {
    const { url: databaseUrl, restart, killBackend, crash } = postgres
    const first = await startNotes(t, { databaseUrl })
    const second = await startNotes(t, { databaseUrl })
    const replicas = [first, { ...second, key: first.key }]
    const clients = startClients(replicas)

    async function strikeAll(): Promise<void> {
      for (let round = 0; round < scale(20, 1); round++) {
        for (const strike of [restart, killBackend, crash]) {
          await clients.stores(20)
          await strike()
        }
        await clients.stores(20)
      }
    }

    const struck = strikeAll()
    const readers = [...replicas, ...replicas, ...replicas]
    const lists = await Promise.all(
      readers.map((replica) => checkLists(replica, clients.creates, struck))
    )
    t.same(await clients.stop(() => storedNotes(databaseUrl)), [])
    t.ok(Math.min(...lists) > 0, `lists of each reader: ${lists.join(', ')}`)
  }
)
