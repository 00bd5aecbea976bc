import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { register } from 'prom-client'
import t from 'tap'
import { makeKey } from '../../src/api-keys/key.ts'
import { breakCategories, createDatabase, lockAwaited, lockTable } from '../support/database.ts'
import { run, script } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { bytesOf, list } from './raw.ts'

/** The value of a sample, such as `name{label="value"}`; 0 when there is none. */
async function sample(name: string): Promise<number> {
  const line = (await register.metrics()).split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length) ?? 0)
}

t.test('requests, rejections and the load of the database are counted', async (t) => {
  register.resetMetrics()
  const service = await startService(t, {
    config: { METRICS_PORT: 0, RATE_LIMIT_MAX: 3, AUTH_FAILURES_MAX: 1 }
  })
  const { url, auth, databaseUrl } = service
  const statusOf = async (headers: Record<string, string> = auth) => {
    const response = await fetch(`${url}/v1/categories`, { headers })
    await response.arrayBuffer()
    return response.status
  }
  const headers = { ...auth, 'content-type': 'application/json' }
  t.equal((await fetch(`${url}/v1/categories`, { method: 'POST', headers, body: '{"name":"x"}' })).status, 201)
  t.equal(await statusOf(), 200)
  await breakCategories(databaseUrl)
  t.equal(await statusOf(), 500)
  t.equal(await statusOf(), 429)
  const wrong = { authorization: `Bearer ${makeKey()}` }
  t.equal(await statusOf(wrong), 401)
  t.equal(await statusOf(wrong), 429)

  const expected: [name: string, value: number][] = [
    ['http_request_duration_seconds_count{operation="createCategory",status="201"}', 1],
    ['http_request_duration_seconds_count{operation="listCategories",status="200"}', 1],
    ['http_request_duration_seconds_count{operation="listCategories",status="500"}', 1],
    ['http_request_duration_seconds_count{operation="listCategories",status="429"}', 2],
    ['http_request_duration_seconds_count{operation="listCategories",status="401"}', 1],
    ['shared_read_requests_sum', 2],
    ['grouped_write_rows_sum{statement="create-categories"}', 1],
    ['database_errors_total{code="internal_error"}', 1],
    ['database_statements_waiting', 0]
  ]
  for (const [name, value] of expected) t.equal(await sample(name), value, name)
  t.ok((await sample('database_connections{state="idle"}')) > 0)
})

t.test('a request is in flight until its response ends or its client leaves', async (t) => {
  register.resetMetrics()
  const { port, key, databaseUrl } = await startService(t, { config: { METRICS_PORT: 0 } })
  await lockTable(t, databaseUrl, 'categories')
  const socket = connect(port, '127.0.0.1')
  socket.write(bytesOf(list(), key))
  await lockAwaited(databaseUrl)
  t.equal(await sample('http_requests_in_flight'), 1)
  t.equal(await sample('database_connections{state="active"}'), 1)
  socket.destroy()
  await until(async () => (await sample('http_requests_in_flight')) === 0, 'it is no longer in flight')
})

t.test('METRICS_PORT serves the metrics, which docs/operations.md explains', async (t) => {
  const service = run(t, script('src/main.ts'), {
    cwd: t.testdir(),
    env: { PORT: '0', METRICS_PORT: '0', DATABASE_URL: await createDatabase(t) }
  })
  const [, url = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)
  const [, api = ''] = await service.sees(/Server listening at (http:\/\/127[^"\s]+)/)
  const response = await fetch(url)
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
  const text = await response.text()
  t.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m)
  t.equal((await fetch(`${api}/metrics`)).status, 404)

  const operations = readFileSync('docs/operations.md', 'utf8')
  for (const { name } of await register.getMetricsAsJSON()) t.match(operations, `\`${name}\``)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
})
