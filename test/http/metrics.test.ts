import { connect, type Socket } from 'node:net'
import { readFileSync } from 'node:fs'
import { register } from 'prom-client'
import t, { type Test } from 'tap'
import { makeKey } from '../../src/api-keys/key.ts'
import { metricsEndpoint } from '../../src/http/metrics-endpoint.ts'
import { createDatabase, lockTable } from '../support/database.ts'
import { breakNotes, serveNotes, startNotes } from '../support/notes.ts'
import { post, started } from '../support/process.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { list, send } from './raw.ts'

/** The value of a sample, such as `name{label="value"}`; 0 if there is none. */
async function sample(name: string): Promise<number> {
  const text = await register.metrics()
  const lines = text.split('\n')
  const line = lines.find((one) => one.startsWith(`${name} `)) ?? `${name} 0`
  return Number(line.slice(name.length))
}

/** Number of requests for an operation that had this status. */
const requests = (operation: string, status: number) =>
  sample(
    'http_request_duration_seconds_count' +
      `{operation="${operation}",status="${status}"}`
  )

/** Number of connections to the database in this state. */
const connections = (state: string) =>
  sample(`database_connections{state="${state}"}`)

/** The status of a request for the list. */
const listStatus = async (service: Service, headers = {}) =>
  (await send(service, list(headers))).status

/** Lists the notes while a lock on them makes the statement wait. */
async function listLate(t: Test, service: Service) {
  const lock = await lockTable(t, service.databaseUrl, 'notes')
  const waiting = listStatus(service)
  const isActive = async () => (await connections('active')) === 1
  await until(isActive, 'a statement waits')
  await lock.release()
  return waiting
}

t.test('requests and the load of the database are counted', async (t) => {
  const service = await startNotes(t, {
    config: {
      METRICS_PORT: 0,
      MAX_REQUESTS_PER_MINUTE: 3,
      MAX_REJECTED_KEYS_PER_MINUTE: 1
    }
  })
  t.equal((await post(service.url, service.key, 'x', 'notes')).status, 201)
  t.equal(await listLate(t, service), 200)
  await breakNotes(service.databaseUrl)
  t.equal(await listStatus(service), 500)
  t.equal(await listStatus(service), 429)
  const wrong = { Authorization: `Bearer ${makeKey()}` }
  t.equal(await listStatus(service, wrong), 401)
  t.equal(await listStatus(service, wrong), 429)

  t.equal(await requests('createNote', 201), 1)
  t.equal(await requests('listNotes', 200), 1)
  t.equal(await requests('listNotes', 500), 1)
  t.equal(await requests('listNotes', 429), 2)
  t.equal(await requests('listNotes', 401), 1)
  t.equal(await sample('http_requests_in_flight'), 0)

  const creates = 'grouped_write_rows_sum{statement="create-notes"}'
  t.equal(await sample(creates), 1)
  t.equal(await sample('shared_read_requests_sum'), 2)
  t.equal(await sample('database_errors_total{code="internal_error"}'), 1)
  t.equal(await sample('database_statements_waiting'), 0)
  t.equal(await connections('active'), 0)
  t.ok((await connections('idle')) > 0)
})

t.test('METRICS_PORT serves the metrics', async (t) => {
  const service = serveNotes(t, {
    METRICS_PORT: '0',
    DATABASE_URL: await createDatabase(t)
  })
  const [, url = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)
  const response = await fetch(url)
  t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
  t.match(await response.text(), /^nodejs_eventloop_lag_p99_seconds \d/m)
  t.equal((await fetch(`${await started(service)}/metrics`)).status, 404)
  t.equal(await service.stop(), 0)
})

t.test('docs/operations.md explains every metric', async (t) => {
  const operations = readFileSync('docs/operations.md', 'utf8')
  for (const { name } of await register.getMetricsAsJSON())
    t.match(operations, `\`${name}\``)
})

t.test('the metrics port limits its connections', async (t) => {
  const endpoint = metricsEndpoint()
  t.teardown(() => endpoint.close())
  const url = await endpoint.listen({ port: 0, host: '127.0.0.1' })
  const { server } = endpoint
  t.equal(server.headersTimeout, 10_000)
  t.equal(server.requestTimeout, 10_000)
  t.equal(server.timeout, 150_000)

  const port = Number(new URL(url).port)
  const sockets = Array.from({ length: 150 }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .on('end', () => {})
  )
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  for (const socket of sockets)
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n')
  const isOpen = ({ closed }: Socket) => !closed
  await until(() => sockets.filter(isOpen).length === 100, '50 are closed')
})
