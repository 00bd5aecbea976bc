// No request fails and no alert fires while nothing is wrong: two replicas
// behind the proxy, under load, are replaced, and one of them is drained.
// CALM_MINUTES says for how long, by default 1. Run by `npm run rules --prefix
// tools/deploy-check`.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { repeat } from '../../src/framework/postgres/repeat.ts'
import { query, silent } from '../../test/support/database.ts'
import { serve, started } from '../../test/support/process.ts'
import { freePort, startPostgres } from '../../test/support/postgres.ts'
import { startClients } from '../../test/support/resend.ts'
import { seed } from '../../test/support/scale.ts'
import { createKeyIn } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import { noticeMs, shutdownDelayMs, startHaproxy } from './haproxy.ts'
import { startMix } from './mix.ts'
import { folder } from './observability.ts'
import { Prometheus } from './prometheus.ts'

const minutes = Number(process.env['CALM_MINUTES'] ?? 1)

const { url: databaseUrl } = await startPostgres(t)
const folderOfReplicas = t.testdir()

/** A replica that can be replaced, on the ports of its first process. */
async function startReplica() {
  const port = await freePort()
  const metricsPort = await freePort()
  const url = `http://127.0.0.1:${port}`
  const environment = {
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    DATABASE_URL: databaseUrl,
    TRUST_PROXY: '1',
    SHUTDOWN_DELAY_MS: String(shutdownDelayMs)
  }

  const start = async () => {
    const replica = serve(t, environment, folderOfReplicas)
    await started(replica)
    const isReady = async () => (await fetch(`${url}/readyz`)).ok
    await until(isReady, 'the replica is ready')
    return replica
  }
  let running = await start()

  return {
    url,
    metricsAddress: `127.0.0.1:${metricsPort}`,
    stop: () => running.stop(),
    async start() {
      running = await start()
    }
  }
}

const replicas = [await startReplica(), await startReplica()]
const key = await createKeyIn(databaseUrl)
await query(
  databaseUrl,
  "UPDATE api_keys SET expires_at = now() + interval '30 days'"
)
const proxy = await startHaproxy(
  t,
  replicas.map(({ url }) => url),
  { MAX_REQUESTS_PER_KEY: '0' }
)
const prometheus = await Prometheus.start(t, `${folder}/rules.yml`, {
  'pet-categories': replicas.map(({ metricsAddress }) => metricsAddress),
  haproxy: [`127.0.0.1:${proxy.metricsPort}`]
})

const seconds = (part: number) => sleep(part * minutes * 60_000)

/** The alerts that were in this state at any time, with their seconds. */
async function alertsThatWere(state: string): Promise<string[]> {
  const values = await prometheus.values(
    `sum by (alertname) (count_over_time(ALERTS{alertstate="${state}"}[1h]))`
  )
  return values.map(
    ({ metric, value }) => `${metric['alertname']}: ${value[1]} s`
  )
}

/** Does what a consumer does: no message waits for long. */
async function consume(): Promise<void> {
  await query(databaseUrl, "DELETE FROM messages WHERE status = 'queued'")
}

const consumer = { name: 'consume', intervalMs: 10_000, work: consume }

// A request to a replica that no longer serves may be lost: the proxy cannot
// know whether the replica has handled it.
t.test('a replica serves until the proxy has noticed that it stops', (t) => {
  t.ok(shutdownDelayMs > noticeMs(), `${shutdownDelayMs} > ${noticeMs()}`)
  t.end()
})

t.test(`no failure and no alert in ${minutes} calm minutes`, async (t) => {
  const isServed = () =>
    fetch(`${proxy.url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    )
  await until(isServed, 'the proxy finds the replicas')
  const target = { url: proxy.url, key, resource: 'categories' }
  const clients = startClients([target], seed, 2)
  const mix = startMix(proxy.url, key)
  t.teardown(repeat(consumer, silent))
  await seconds(0.3)

  for (const replica of replicas) {
    t.equal(await replica.stop(), 0)
    await replica.start()
    await seconds(0.1)
  }

  const [drained] = replicas
  t.equal(await drained?.stop(), 0)
  await seconds(0.1)
  await drained?.start()
  await seconds(0.4)

  const { creates, failures } = clients
  await clients.stop(() => Promise.resolve([]))
  await mix.stop()
  t.ok(creates.size > 0)
  t.same(mix.failures, [])
  t.same({ ...failures }, {})
  t.same(creates.faults, [])
  t.same(await alertsThatWere('firing'), [])
  t.comment(`${creates.size} creates, ${mix.sentCount} others`)
  t.comment(`pending: ${(await alertsThatWere('pending')).join(', ')}`)
})
