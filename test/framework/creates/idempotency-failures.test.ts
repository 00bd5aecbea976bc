import { randomInt } from 'node:crypto'
import t from 'tap'
import { createDatabase } from '../../support/database.ts'
import {
  createKey,
  serveNotes,
  startNotes,
  storedNotes
} from '../../support/notes.ts'
import { startPostgres } from '../../support/postgres.ts'
import { started } from '../../support/process.ts'
import { startProxy } from '../../support/proxy.ts'
import { startClients } from '../../support/resend.ts'
import { scale } from '../../support/scale.ts'
import type { Service } from '../../support/service.ts'

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

const count = scale(5000, 100)

t.test(`${count} creates are stored once through random resets`, async (t) => {
  const databaseUrl = await createDatabase(t)
  const first = await startNotes(t, { databaseUrl })
  const second = await startNotes(t, { databaseUrl })

  const proxyOf = async ({ url }: Service) => {
    const proxy = await startProxy(t, url)
    proxy.state.resets = () => randomInt(6) === 0
    return { url: `http://127.0.0.1:${proxy.port}`, key: first.key }
  }
  const targets = [await proxyOf(first), await proxyOf(second)]

  const clients = startClients(targets)
  await clients.stores(count)
  t.same(await clients.stop(() => storedNotes(databaseUrl)), [])
  t.ok(clients.failures['lost'], 'connections were reset')
})
