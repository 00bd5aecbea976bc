import { randomInt } from 'node:crypto'
import t from 'tap'
import { createKey, serveNotes, storedNotes } from '../../support/notes.ts'
import { startPostgres } from '../../support/postgres.ts'
import { started } from '../../support/process.ts'
import { startClients } from '../../support/resend.ts'
import { scale } from '../../support/scale.ts'

const kills = scale(100, 4)

t.test(
  `creates that are sent again are stored once, in ${kills} kills`,
  async (t) => {
    const postgres = await startPostgres(t)
    const key = await createKey(t, postgres.url)
    const directory = t.testdir()
    async function startReplica() {
      const replica = serveNotes(t, { DATABASE_URL: postgres.url }, directory)
      return { ...replica, url: await started(replica), key }
    }
    const replicas = [await startReplica(), await startReplica()]
    const clients = startClients(replicas)

    /** Kills a replica, and starts another one in its place. */
    async function replaceReplica() {
      const index = randomInt(2)
      replicas[index]?.child.kill('SIGKILL')
      await replicas[index]?.exited
      replicas[index] = await startReplica()
    }
    const strikes = [
      replaceReplica,
      postgres.killBackend,
      postgres.crash,
      postgres.restart
    ]
    for (let done = 0; done < kills; done++) {
      await clients.stores(1 + randomInt(50))
      await strikes[done % strikes.length]?.()
    }

    await clients.stores(20)
    t.same(await clients.stop(() => storedNotes(postgres.url)), [])
    t.comment(clients.failures)
    t.ok(clients.failures['lost'], 'replicas were away')
    t.ok(clients.failures['unavailable'], 'PostgreSQL was away')
  }
)
