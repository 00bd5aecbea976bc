import t from 'tap'
import { createDatabase, query } from '../support/database.ts'
import { startPair, startPostgres } from '../support/postgres.ts'
import { serve, started } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { startClients } from '../support/resend.ts'
import { randomizer, scale, seed } from '../support/scale.ts'
import { createKeyIn, type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const readRows = (url: string) => () =>
  query(url, 'SELECT id, name FROM categories')
const kills = scale(100, 8)

t.test(
  `creates that are sent again until they succeed are stored once, in ${kills} kills (seed ${seed})`,
  async (t) => {
    const { random } = randomizer(seed)
    const postgres = await startPostgres(t, { fsync: 'off' })
    const key = await createKeyIn(postgres.url)
    const directory = t.testdir()
    const startReplica = async () => {
      const replica = serve(t, { DATABASE_URL: postgres.url }, directory)
      return { ...replica, url: await started(replica), key }
    }
    const replicas = [await startReplica(), await startReplica()]
    const clients = startClients(replicas, seed)
    const strikes = [
      async () => {
        const index = random(2)
        replicas[index]?.child.kill('SIGKILL')
        await replicas[index]?.exited
        replicas[index] = await startReplica()
      },
      postgres.killBackend,
      postgres.crash,
      postgres.restart
    ]
    for (let done = 0; done < kills; done++) {
      await clients.stores(1 + random(100))
      await strikes[done % strikes.length]?.()
    }
    await clients.stores(20)
    t.same(await clients.stop(readRows(postgres.url)), [])
    t.comment(clients.failures)
    t.ok(
      clients.failures['lost'] && clients.failures['unavailable'],
      'replicas and PostgreSQL were away'
    )
  }
)

for (let round = 0; round < scale(20, 1); round++) {
  t.test(
    `a failover loses no create whose response was a 201, or a replay of it (seed ${seed + round})`,
    async (t) => {
      const pair = await startPair(t, { fsync: 'off' })
      const options = {
        databaseUrl: pair.url,
        config: { DATABASE_TIMEOUT_MS: 1000 }
      }
      const [first, second] = [
        await startService(t, options),
        await startService(t, options)
      ]
      await pair.replicateSynchronously()
      const clients = startClients(
        [first, { ...second, key: first.key }],
        seed + round
      )
      await clients.stores(50)
      // From now on, the primary has rows and keys that the standby does not have.
      await pair.isolate()
      const { failures } = clients
      await until(
        () => (failures['outcome_unknown'] ?? 0) >= 20,
        'clients send again what may be stored'
      )
      await pair.primary.kill()
      await pair.promote()
      await clients.stores(50)
      t.same(await clients.stop(readRows(pair.url)), [])
    }
  )
}

const count = scale(5000, 200)

t.test(
  `${count} creates are stored once through resets at random points (seed ${seed})`,
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const { random } = randomizer(seed)
    const services = [
      await startService(t, { databaseUrl }),
      await startService(t, { databaseUrl })
    ]
    const key = String(services[0]?.key)
    const proxyOf = async ({ url }: Service) => {
      const proxy = await startProxy(t, url)
      proxy.state.resets = () => random(6) === 0
      return { url: `http://127.0.0.1:${proxy.port}`, key }
    }
    const targets = await Promise.all(services.map(proxyOf))
    const clients = startClients(targets, seed)
    await clients.stores(count)
    t.same(await clients.stop(readRows(databaseUrl)), [])
    t.ok(clients.failures['lost'], 'connections were reset')
  }
)
