// Whatever fails, a create is stored once, and lists have it. TEST_FAULTS=300
// TEST_CREATES_PER_FAULT=140 makes it a soak test. It has no seed: what a fault
// meets depends on the processors, so a seed would repeat nothing.
import { randomInt } from 'node:crypto'
import t from 'tap'
import { createApiKey } from '../src/api-keys/manage-api-keys.ts'
import { LoadGenerator } from './support/load-generator.ts'
import {
  connect,
  endStatements,
  lockTable,
  storedCategories
} from './support/database.ts'
import {
  configure,
  startDedicatedPostgres
} from './support/dedicated-postgres.ts'
import { spawnService, waitForUrl } from './support/process.ts'
import { until } from './support/until.ts'

const faults = Number(process.env['TEST_FAULTS'] ?? 8)
/** The creates that are stored between two faults. */
const creates = Number(process.env['TEST_CREATES_PER_FAULT'] ?? 25)

/** Ends the statements that run, such as by `pg_cancel_backend`. */
const end = (url: string, by: string) => () =>
  until(() => endStatements(url, by), 'a statement runs')

t.test(`creates and lists survive ${faults} faults`, async (t) => {
  const postgres = await startDedicatedPostgres(t)
  // So that statements run for long enough to be ended.
  await configure(postgres.url, 'fsync = on')
  const connection = await connect(t, postgres.url)
  const apiKey = await createApiKey(connection, 'x')
  async function startReplica() {
    const replica = spawnService(t, { DATABASE_URL: postgres.url })
    return { ...replica, url: await waitForUrl(replica), apiKey }
  }
  const replicas = [await startReplica(), await startReplica()]
  const load = new LoadGenerator(t, replicas)

  /** Kills a replica, and starts another one in its place. */
  async function replaceReplica() {
    const index = randomInt(2)
    replicas[index]?.child.kill('SIGKILL')
    await replicas[index]?.exited
    replicas[index] = await startReplica()
  }
  const count503 = () =>
    (load.failures['unavailable'] ?? 0) +
    (load.failures['outcome_unknown'] ?? 0)
  /** Resolves when this many more requests have had a 503. */
  async function waitForFailures(count: number) {
    const enough = count503() + count
    await until(() => count503() >= enough, 'clients notice the fault')
  }
  async function lock() {
    const table = ['categories', 'idempotency_keys', 'api_keys'][randomInt(3)]!
    const { rollBack } = await lockTable(t, postgres.url, table)
    await waitForFailures(1)
    await rollBack()
  }
  /** Loses connections when the server has stored creates, and says so. */
  async function loseResponses() {
    postgres.disconnectOn('created')
    await waitForFailures(20)
    postgres.passThrough()
  }
  const faultInjectors = [
    replaceReplica,
    end(postgres.url, 'pg_cancel_backend'),
    postgres.killWalWriter,
    lock,
    postgres.crashAndRestart,
    end(postgres.url, 'pg_terminate_backend'),
    postgres.restart,
    loseResponses
  ]
  for (let done = 0; done < faults; done++) {
    await load.waitForCreates(1 + randomInt(2 * creates))
    await faultInjectors[done % faultInjectors.length]?.()
  }
  await load.waitForCreates(20)
  t.same(await load.stop(() => storedCategories(postgres.url)), [])
  const { creates: stored, lists } = load
  t.comment({ stored, lists, ...load.failures })
  t.ok(lists > 0)
  t.ok(load.failures['no response: TypeError'], 'replicas were away')
  t.ok(load.failures['unavailable'], 'PostgreSQL was away')
})
