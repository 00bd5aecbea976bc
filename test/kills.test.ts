// Whatever fails, a create is stored once, and lists have it. FAULTS=300
// CREATES=140 makes it a soak test. It has no seed: what a fault meets depends on
// the processors, so a seed would repeat nothing.
import { randomInt } from 'node:crypto'
import t from 'tap'
import { type Endpoint, startClients } from './support/clients.ts'
import {
  endStatements,
  lockTable,
  storedCategories
} from './support/database.ts'
import { configure, startPostgres } from './support/postgres.ts'
import { serve, started } from './support/process.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

const faults = Number(process.env['FAULTS'] ?? 8)
/** The creates that are stored between two faults. */
const creates = Number(process.env['CREATES'] ?? 25)

/** Ends the statements that run, such as by `pg_cancel_backend`. */
const end = (url: string, by: string) => () =>
  until(() => endStatements(url, by), 'a statement runs')

/** Lists all the time. Returns a function that ends this, with their number. */
function startLists(
  clients: ReturnType<typeof startClients>,
  endpoint: Endpoint
) {
  let isRunning = true
  let lists = 0
  const listing = until(
    async () => {
      if (await clients.list(endpoint)) lists++
      return !isRunning
    },
    'the faults are over',
    faults * 60
  )

  return async () => {
    isRunning = false
    await listing
    return lists
  }
}

t.test(`creates and lists survive ${faults} faults`, async (t) => {
  const postgres = await startPostgres(t)
  // So that statements run for long enough to be ended.
  await configure(postgres.url, 'fsync = on')
  const { key, ...inProcess } = await startService(t, {
    databaseUrl: postgres.url
  })
  async function startReplica() {
    const replica = serve(t, { DATABASE_URL: postgres.url })
    return { ...replica, url: await started(replica), key }
  }
  const replicas = [await startReplica(), await startReplica()]
  const clients = startClients(replicas)

  const endLists = startLists(clients, { url: inProcess.url, key })

  /** Kills a replica, and starts another one in its place. */
  async function replaceReplica() {
    const index = randomInt(2)
    replicas[index]?.child.kill('SIGKILL')
    await replicas[index]?.exited
    replicas[index] = await startReplica()
  }
  const count503 = () =>
    (clients.failures['unavailable'] ?? 0) +
    (clients.failures['outcome_unknown'] ?? 0)
  /** Resolves when this many more requests have had a 503. */
  async function noticed(count: number) {
    const enough = count503() + count
    await until(() => count503() >= enough, 'clients notice the fault')
  }
  async function lock() {
    const table = ['categories', 'idempotency_keys', 'api_keys'][randomInt(3)]!
    const { release } = await lockTable(t, postgres.url, table)
    await noticed(1)
    await release()
  }
  /** Loses connections when the server has stored creates, and says so. */
  async function loseResponses() {
    postgres.cutAt('created')
    await noticed(20)
    postgres.cutAt('nothing')
  }
  const strikes = [
    replaceReplica,
    end(postgres.url, 'pg_cancel_backend'),
    postgres.killBackend,
    lock,
    postgres.crash,
    end(postgres.url, 'pg_terminate_backend'),
    postgres.restart,
    loseResponses
  ]
  for (let done = 0; done < faults; done++) {
    await clients.stores(1 + randomInt(2 * creates))
    await strikes[done % strikes.length]?.()
  }
  await clients.stores(20)
  const lists = await endLists()

  const stored = await storedCategories(postgres.url)
  t.comment({ stored: stored.length, lists, ...clients.failures })
  t.same(await clients.stop(() => storedCategories(postgres.url)), [])
  t.ok(lists > 0)
  t.ok(clients.failures['lost'], 'replicas were away')
  t.ok(clients.failures['unavailable'], 'PostgreSQL was away')
})
