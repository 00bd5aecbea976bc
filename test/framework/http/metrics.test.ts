import { connect, type Socket } from 'node:net'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createMetricsServer } from '../../../src/framework/http/metrics-endpoint.ts'
import { createDatabase, lockTable, query } from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import {
  breakNotes,
  createNote,
  serveNotes,
  startNotes,
  makeKey
} from '../../support/notes.ts'
import { postNamed, serve, started } from '../../support/process.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  getRequest,
  listRequest,
  openConnection,
  send
} from './raw-requests.ts'

/** Number of requests for an operation that had this status. */
const requests = (operation: string, status: number) =>
  sample(
    'http_request_duration_seconds_count' +
      `{operation="${operation}",status="${status}"}`
  )

/** Number of error responses of an operation with this code. */
const errors = (operation: string, code: string) =>
  sample(`http_errors_total{operation="${operation}",code="${code}"}`)

/** Number of statements that ended like this. */
const statements = (statement: string, outcome: string) =>
  sample(
    'database_statement_seconds_count' +
      `{statement="${statement}",outcome="${outcome}"}`
  )

/** Number of connections to the database in this state. */
const connections = (state: string) =>
  sample(`database_connections{state="${state}"}`)

/** The status of a request for the list. */
const listStatus = async (service: Service, headers = {}) =>
  (await send(service, listRequest(headers))).status

/** Lists the notes while a lock on them makes the statement wait. */
async function listLate(t: Test, service: Service) {
  const lock = await lockTable(t, service.databaseUrl, 'notes')
  const waiting = listStatus(service)
  const isActive = async () => (await connections('active')) === 1
  await until(isActive, 'a statement waits')
  await lock.release()

  return waiting
}

/** Sends requests of each outcome. */
async function sendEachOutcome(t: Test, service: Service) {
  t.equal((await postNamed(service.url, service.key, 'x', 'notes')).status, 201)
  t.equal(await listLate(t, service), 200)

  await breakNotes(service.databaseUrl)
  t.equal(await listStatus(service), 500)
  t.equal(await listStatus(service), 429)

  const wrong = { Authorization: `Bearer ${makeKey()}` }
  t.equal(await listStatus(service, wrong), 401)
  t.equal(await listStatus(service, wrong), 429)
}

async function requestsAreCounted(t: Test) {
  t.equal(await requests('createNote', 201), 1)
  t.equal(await requests('listNotes', 200), 1)
  t.equal(await requests('listNotes', 500), 1)
  t.equal(await requests('listNotes', 429), 2)
  t.equal(await requests('listNotes', 401), 1)
  t.equal(await errors('listNotes', 'internal_error'), 1)
  t.equal(await errors('listNotes', 'rate_limited'), 2)
  t.equal(await errors('listNotes', 'unauthorized'), 1)
  t.equal(await sample('http_requests_in_flight'), 0)
}

async function rejectedKeysAreCounted(t: Test) {
  t.equal(await sample('rate_limited_total{limit="key"}'), 1)
  t.equal(await sample('rate_limited_total{limit="rejected"}'), 1)
  t.equal(await sample('auth_failures_total{reason="unknown"}'), 2)
}

async function statementsAreCounted(t: Test) {
  const creates = 'grouped_write_rows_sum{statement="create-notes"}'
  t.equal(await sample(creates), 1)
  t.equal(await statements('create-notes', 'ok'), 1)
  t.equal(await statements('list-of-notes', 'ok'), 1)
  t.equal(await statements('list-of-notes', 'failed'), 1)
  t.equal(await sample('shared_read_requests_sum'), 2)
  t.equal(await sample('database_errors_total{code="internal_error"}'), 1)
}

async function connectionsAreMeasured(t: Test) {
  t.equal(await sample('database_statements_waiting'), 0)
  t.equal(await sample('database_pool_wait_seconds_count{use="writes"}'), 2)
  t.equal(await connections('active'), 0)
  t.ok(Number(await connections('idle')) > 0)
  t.equal(await sample('database_connections_max'), 10)
}

// First: the counts are those of the whole process.
t.test('requests and the load of the database are counted', async (t) => {
  const service = await startNotes(t, {
    config: {
      METRICS_PORT: 0,
      MAX_REQUESTS_PER_MINUTE: 3,
      MAX_REJECTED_KEYS_PER_MINUTE: 1
    }
  })
  await sendEachOutcome(t, service)

  await requestsAreCounted(t)
  await rejectedKeysAreCounted(t)
  await statementsAreCounted(t)
  await connectionsAreMeasured(t)
})

t.test('what alerts count starts at 0', async (t) => {
  await startNotes(t, { config: { METRICS_PORT: 0 } })

  for (const operation of ['createNote', 'getNote', 'none']) {
    for (const code of ['unavailable', 'outcome_unknown', 'internal_error'])
      t.equal(await errors(operation, code), 0, `${operation} ${code}`)
  }

  for (const reason of ['absent', 'revoked', 'expired'])
    t.equal(await sample(`auth_failures_total{reason="${reason}"}`), 0)

  t.equal(await statements('notes-by-id', 'timeout'), 0)
})

t.test('each kind of database error has a count from the start', async (t) => {
  await startNotes(t, { config: { METRICS_PORT: 0 } })
  const codes = [
    'unavailable',
    'outcome_unknown',
    'constraint_violated',
    'internal_error'
  ]

  for (const code of codes) {
    const count = await sample(`database_errors_total{code="${code}"}`)
    t.type(count, 'number', code)
  }
})

t.test(
  'a violated constraint is not counted as an internal error',
  async (t) => {
    const { database } = await startNotes(t)
    const count = async (code: string) =>
      Number(await sample(`database_errors_total{code="${code}"}`))
    const violations = await count('constraint_violated')
    const internalErrors = await count('internal_error')

    const text = `
      DO $$ BEGIN
        RAISE unique_violation USING CONSTRAINT = 'notes_name_key';
      END $$
    `
    await t.rejects(database.write({ text }))
    t.equal(await count('constraint_violated'), violations + 1)

    await t.rejects(database.write({ text: 'SELECT 1 / 0' }))
    t.equal(await count('internal_error'), internalErrors + 1)
  }
)

t.test('a statement over DATABASE_TIMEOUT_MS is a timeout', async (t) => {
  const service = await startNotes(t, { config: { DATABASE_TIMEOUT_MS: 2000 } })
  const lock = await lockTable(t, service.databaseUrl, 'notes')
  const isCounted = async () => {
    t.equal(await listStatus(service), 503)
    return Number(await statements('list-of-notes', 'timeout')) > 0
  }
  await until(isCounted, 'the timeout is counted')
  await lock.release()
})

t.test('creates with an Idempotency-Key are counted', async (t) => {
  const service = await startNotes(t)
  const outcomes = (outcome: string) =>
    sample(`idempotent_creates_total{table="notes",outcome="${outcome}"}`)
  const createWith = (headers: object, name: string) =>
    createNote(service, name, headers)

  const key = { 'idempotency-key': 'a' }
  await createWith(key, 'x')
  await createWith(key, 'x')
  await createWith(key, 'y')
  await createWith({}, 'z')

  t.equal(await outcomes('created'), 1)
  t.equal(await outcomes('replayed'), 1)
  t.equal(await outcomes('reused'), 1)
  t.equal(await outcomes('held'), 0)
})

t.test('requests that are not valid HTTP are counted', async (t) => {
  const service = await startNotes(t, {
    config: { METRICS_PORT: 0, HEADERS_TIMEOUT_MS: 1000 }
  })
  const rejected = async (code: string) =>
    Number(await sample(`http_parser_errors_total{code="${code}"}`))
  const codes = ['invalid_request', 'request_timeout', 'headers_too_large']
  const counts = () => Promise.all(codes.map(rejected))
  const before = await counts()
  const since = async () =>
    (await counts()).map((count, index) => count - Number(before[index]))

  t.equal((await send(service, listRequest())).status, 200)
  t.same(await since(), [0, 0, 0])

  t.equal((await send(service, 'nonsense\r\n\r\n')).status, 400)
  t.equal((await send(service, 'GET / HTTP/1.1\r\n')).status, 408)
  const large = { 'X-Large': 'x'.repeat(100_000) }
  t.equal((await send(service, listRequest(large))).status, 431)
  t.same(await since(), [1, 1, 1])
})

t.test(
  'a connection that is reset is not an error of the parser',
  async (t) => {
    const service = await startNotes(t, { config: { METRICS_PORT: 0 } })
    const rejected = () =>
      sample('http_parser_errors_total{code="invalid_request"}')
    const before = await rejected()
    const openNow = () => sample('http_connections')
    const areClosed = async () => (await openNow()) === 0
    await until(areClosed, 'the connections of earlier tests are closed')

    const { socket } = openConnection(t, service, 'GET /readyz HTTP/1.1\r\n')
    await until(async () => (await openNow()) === 1, 'it is open')
    socket.resetAndDestroy()
    await until(areClosed, 'it is closed')
    t.equal(await rejected(), before)
  }
)

t.test('connections and readiness are measured', async (t) => {
  const service = await startNotes(t, {
    config: { METRICS_PORT: 0, MAX_CONNECTIONS: 7 }
  })
  t.equal(await sample('http_connections'), 0)
  const { closed, responded, socket } = openConnection(
    t,
    service,
    getRequest('/readyz')
  )
  await responded
  t.equal(await sample('http_connections'), 1)
  t.equal(await sample('http_connections_max'), 7)
  t.equal(await sample('ready'), 1)

  socket.end()
  await closed
  const isClosed = async () => (await sample('http_connections')) === 0
  await until(isClosed, 'the connection is not counted')

  service.app.isDraining = true
  await service.app.inject('/readyz')
  t.equal(await sample('ready'), 0)
})

t.test('proxies that are not trusted are counted', async (t) => {
  const forwards = async () =>
    Number(await sample('http_untrusted_forwards_total'))
  const forwarded = {
    url: '/livez',
    headers: { 'x-forwarded-for': '192.0.2.1' }
  }
  const trusting = { METRICS_PORT: 0, TRUST_PROXY: '1' }
  const { app } = await startNotes(t, { config: { METRICS_PORT: 0 } })
  const { app: appOfProxy } = await startNotes(t, { config: trusting })
  const before = await forwards()

  await app.inject('/livez')
  await appOfProxy.inject(forwarded)
  // A client on the machine of the proxy.
  await appOfProxy.inject({
    url: '/livez',
    headers: { 'x-forwarded-for': '127.0.0.1' }
  })
  t.equal((await forwards()) - before, 0)

  await app.inject(forwarded)
  t.equal((await forwards()) - before, 1)
})

t.test('pending migrations are counted', async (t) => {
  const service = await startNotes(t)
  const pending = "name = '0001_framework' OR name = '0002_notes'"
  await query(service.databaseUrl, `DELETE FROM pgmigrations WHERE ${pending}`)
  t.equal((await service.app.inject('/readyz')).statusCode, 503)
  t.equal(await sample('migrations_pending'), 2)
})

/** Starts a process, and returns what its metrics port responds. */
async function scrape(t: Test, start: typeof serve, databaseUrl: string) {
  const service = start(t, { METRICS_PORT: '0', DATABASE_URL: databaseUrl })
  const [, url = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)
  const response = () => fetch(url)
  return { service, response, text: async () => (await response()).text() }
}

t.test('METRICS_PORT serves the metrics', async (t) => {
  const url = await createDatabase(t)
  const { service, response } = await scrape(t, serveNotes, url)
  const { headers } = await response()
  t.match(headers.get('content-type'), 'text/plain; version=0.0.4')
  const text = await (await response()).text()
  t.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m)
  t.match(text, /^build_info\{version="\S+",environment="development"\} 1$/m)
  t.equal((await fetch(`${await started(service)}/metrics`)).status, 404)
  t.equal(await service.stop(), 0)
})

/** The rows of the table in docs/metrics.md: name, type, labels and help. */
const documented = () =>
  readFileSync('docs/metrics.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => {
      const [, name = '', type, labels = '', help] = line
        .split('|')
        .map((cell) => cell.trim())

      return {
        name: name.replaceAll('`', ''),
        type,
        labels: labels.replaceAll('`', '').split(', '),
        help
      }
    })

/** The labels of the samples of a metric. */
function labelsIn(text: string, name: string): string[] {
  const samples = new RegExp(
    `^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `,
    'gm'
  )
  const labels = [...text.matchAll(samples)].flatMap(([, all = '']) =>
    [...all.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
  )

  return [...new Set(labels)].filter((label) => label !== 'le')
}

t.test('docs/metrics.md lists what the service exports', async (t) => {
  const { service, text } = await scrape(t, serve, await createDatabase(t))
  await started(service)
  const exported = await text()

  const names = [...exported.matchAll(/^# TYPE (\w+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !/^(nodejs|process)_/.test(name))
  const table = documented()
  t.same(names.sort(), table.map(({ name }) => name).sort())

  for (const { name, type, labels, help } of table) {
    t.match(exported, `# TYPE ${name} ${type}\n`)
    t.match(exported, `# HELP ${name} ${help}\n`)
    for (const label of labelsIn(exported, name))
      t.ok(labels.includes(label), `${name} ${label}`)
  }
})

t.test('the metrics port limits its connections', async (t) => {
  const endpoint = createMetricsServer()
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
