import t, { type Test } from 'tap'
import { createDatabase } from '../../support/database.ts'
import {
  notes,
  serveNotes,
  startNotes,
  storedNotes
} from '../../support/notes.ts'
import { startPair, startPostgres } from '../../support/postgres.ts'
import { started } from '../../support/process.ts'
import { startProxy } from '../../support/proxy.ts'
import { startClients } from '../../support/resend.ts'
import { randomizer, scale, seed } from '../../support/scale.ts'
import { createKeyIn, type Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** Two replicas as processes on one database, which the test kills. */
async function startProcesses(t: Test, databaseUrl: string) {
  const key = await createKeyIn(databaseUrl, notes.names)
  const directory = t.testdir()

  async function start() {
    const replica = serveNotes(t, { DATABASE_URL: databaseUrl }, directory)
    return { ...replica, url: await started(replica), key }
  }
  const replicas = [await start(), await start()]

  /** Kills a replica, and starts another one in its place. */
  async function replace(index: number) {
    replicas[index]?.child.kill('SIGKILL')
    await replicas[index]?.exited
    replicas[index] = await start()
  }

  return { replicas, replace }
}

const kills = scale(100, 4)

t.test(
  `creates that are sent again are stored once, in ${kills} kills (seed ${seed})`,
  async (t) => {
    const { random } = randomizer(seed)
    const postgres = await startPostgres(t)
    const { replicas, replace } = await startProcesses(t, postgres.url)
    const clients = startClients(replicas, seed)
    const strikes = [
      () => replace(random(2)),
      postgres.killBackend,
      postgres.crash,
      postgres.restart
    ]

    for (let done = 0; done < kills; done++) {
      await clients.stores(1 + random(100))
      await strikes[done % strikes.length]?.()
    }

    await clients.stores(20)
    t.same(await clients.stop(() => storedNotes(postgres.url)), [])
    t.comment(clients.failures)
    t.ok(clients.failures['lost'], 'replicas were away')
    t.ok(clients.failures['unavailable'], 'PostgreSQL was away')
  }
)

const failovers = scale(20, 1)

for (let round = 0; round < failovers; round++) {
  const ownSeed = seed + round

  t.test(
    `a failover loses no create whose response was a 201 (seed ${ownSeed})`,
    async (t) => {
      const pair = await startPair(t)
      const options = {
        databaseUrl: pair.url,
        config: { DATABASE_TIMEOUT_MS: 1000 }
      }
      const first = await startNotes(t, options)
      const second = await startNotes(t, options)
      const replicas = [first, { ...second, key: first.key }]
      await pair.replicateSynchronously()
      const clients = startClients(replicas, ownSeed)
      await clients.stores(50)

      // From now on, the primary has rows and keys that the standby lacks.
      await pair.isolate()
      const { failures } = clients
      await until(
        () => (failures['outcome_unknown'] ?? 0) >= 20,
        'clients send again what may be stored'
      )

      await pair.primary.kill()
      await pair.promote()
      await clients.stores(50)
      t.same(await clients.stop(() => storedNotes(pair.url)), [])
    }
  )
}

const count = scale(5000, 200)

t.test(
  `${count} creates are stored once through random resets (seed ${seed})`,
  async (t) => {
    const { random } = randomizer(seed)
    const databaseUrl = await createDatabase(t)
    const first = await startNotes(t, { databaseUrl })
    const second = await startNotes(t, { databaseUrl })

    const proxyOf = async ({ url }: Service) => {
      const proxy = await startProxy(t, url)
      proxy.state.resets = () => random(6) === 0
      return { url: `http://127.0.0.1:${proxy.port}`, key: first.key }
    }
    const targets = [await proxyOf(first), await proxyOf(second)]

    const clients = startClients(targets, seed)
    await clients.stores(count)
    t.same(await clients.stop(() => storedNotes(databaseUrl)), [])
    t.ok(clients.failures['lost'], 'connections were reset')
  }
)
