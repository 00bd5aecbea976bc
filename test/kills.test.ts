// Whatever fails, a create is stored once, and lists have it. FAULTS=300
// CREATES=140 makes it a soak test. It has no seed: what a fault meets depends on
// the processors, so a seed would repeat nothing.
import { randomInt } from 'node:crypto'
import t from 'tap'
import { createApiKey } from '../src/api-keys/manage-api-keys.ts'
import { Clients } from './support/clients.ts'
import {
  connect,
  endStatements,
  lockTable,
  storedCategories
} from './support/database.ts'
import { configure, startPostgres } from './support/postgres.ts'
import { serve, started } from './support/process.ts'
import { until } from './support/until.ts'

const faults = Number(process.env['FAULTS'] ?? 8)
/** The creates that are stored between two faults. */
const creates = Number(process.env['CREATES'] ?? 25)

/** Ends the statements that run, such as by `pg_cancel_backend`. */
const end = (url: string, by: string) => () =>
  until(() => endStatements(url, by), 'a statement runs')

t.test(`creates and lists survive ${faults} faults`, async (t) => {
  const postgres = await startPostgres(t)
  // So that statements run for long enough to be ended.
  await configure(postgres.url, 'fsync = on')
  const connection = await connect(t, postgres.url)
  const apiKey = await createApiKey(connection, 'x')
  async function startReplica() {
    const replica = serve(t, { DATABASE_URL: postgres.url })
    return { ...replica, url: await started(replica), apiKey }
  }
  const replicas = [await startReplica(), await startReplica()]
  const clients = new Clients(t, replicas)

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
  t.same(await clients.stop(() => storedCategories(postgres.url)), [])
  const { creates: stored, lists } = clients
  t.comment({ stored, lists, ...clients.failures })
  t.ok(lists > 0)
  t.ok(clients.failures['no response: TypeError'], 'replicas were away')
  t.ok(clients.failures['unavailable'], 'PostgreSQL was away')
})
