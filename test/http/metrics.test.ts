import { type AddressInfo, connect, type Socket } from 'node:net'
import { readFileSync } from 'node:fs'
import { register } from 'prom-client'
import t from 'tap'
import { makeKey } from '../../src/api-keys/key.ts'
import { metricsEndpoint } from '../../src/http/metrics-endpoint.ts'
import {
  breakCategories,
  createDatabase,
  lockTable
} from '../support/database.ts'
import { post, serve, started } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { list, send } from './raw.ts'

/** The value of a sample, such as `name{label="value"}`; 0 when there is none. */
async function sample(name: string): Promise<number> {
  const line = (await register.metrics())
    .split('\n')
    .find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length) ?? 0)
}

t.test(
  'requests, rejections and the load of the database are counted',
  async (t) => {
    const config = {
      METRICS_PORT: 0,
      MAX_REQUESTS_PER_MINUTE: 3,
      MAX_REJECTED_KEYS_PER_MINUTE: 1
    }
    const service = await startService(t, { config })
    const status = async (headers = {}) =>
      (await send(service, list(headers))).status
    t.equal((await post(service.url, service.key, 'x')).status, 201)
    const lock = await lockTable(t, service.databaseUrl, 'categories')
    const waiting = status()
    await until(
      async () => (await sample('database_connections{state="active"}')) === 1,
      'a statement waits'
    )
    await lock.release()
    t.equal(await waiting, 200)
    await breakCategories(service.databaseUrl)
    t.same([await status(), await status()], [500, 429])
    const wrong = { Authorization: `Bearer ${makeKey()}` }
    t.same([await status(wrong), await status(wrong)], [401, 429])

    for (const [name, value] of [
      [
        'http_request_duration_seconds_count{operation="createCategory",status="201"}',
        1
      ],
      [
        'http_request_duration_seconds_count{operation="listCategories",status="200"}',
        1
      ],
      [
        'http_request_duration_seconds_count{operation="listCategories",status="500"}',
        1
      ],
      [
        'http_request_duration_seconds_count{operation="listCategories",status="429"}',
        2
      ],
      [
        'http_request_duration_seconds_count{operation="listCategories",status="401"}',
        1
      ],
      ['http_requests_in_flight', 0],
      ['shared_read_requests_sum', 2],
      ['grouped_write_rows_sum{statement="create-categories"}', 1],
      ['database_errors_total{code="internal_error"}', 1],
      ['database_connections{state="active"}', 0],
      ['database_statements_waiting', 0]
    ] as const) {
      t.equal(await sample(name), value, name)
    }
    t.ok((await sample('database_connections{state="idle"}')) > 0)
  }
)

t.test(
  'METRICS_PORT serves the metrics, which docs/operations.md explains',
  async (t) => {
    const service = serve(t, {
      METRICS_PORT: '0',
      DATABASE_URL: await createDatabase(t)
    })
    const [, url = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)
    const response = await fetch(url)
    t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
    t.match(await response.text(), /^nodejs_eventloop_lag_p99_seconds \d/m)
    t.equal((await fetch(`${await started(service)}/metrics`)).status, 404)

    const operations = readFileSync('docs/operations.md', 'utf8')
    for (const { name } of await register.getMetricsAsJSON())
      t.match(operations, `\`${name}\``)
    t.equal(await service.stop(), 0)
  }
)

t.test('the metrics port limits its connections', async (t) => {
  const endpoint = metricsEndpoint()
  t.teardown(() => endpoint.close())
  await endpoint.listen({ port: 0, host: '127.0.0.1' })
  const { server } = endpoint
  t.equal(server.headersTimeout, 10_000)
  t.equal(server.requestTimeout, 10_000)
  t.equal(server.timeout, 150_000)

  const { port } = server.address() as AddressInfo
  const halfRequest = 'GET /metrics HTTP/1.1\r\nHost: x\r\n'
  const sockets = Array.from({ length: 150 }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .on('end', () => {})
  )
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  for (const socket of sockets) socket.write(halfRequest)
  const isOpen = ({ closed }: Socket) => !closed
  await until(() => sockets.filter(isOpen).length === 100, '50 are closed')
})
