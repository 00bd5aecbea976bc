import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  createDatabase,
  lockAwaited,
  lockTable,
  query
} from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import {
  breakNotes,
  createNote,
  listNotes,
  makeKey,
  serveNotes,
  startNotes
} from '../../support/notes.ts'
import { started } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import {
  disconnected,
  getRequest,
  openConnection,
  request,
  send
} from './raw-requests.ts'

const config = { METRICS_PORT: 0 }

/**
 * Checks by how much an action increases counters. Each must have a value
 * before: an alert does not see the first failure of a series that begins with
 * it.
 */
async function increases(
  t: Test,
  app: FastifyInstance,
  expected: Record<string, number>,
  action: () => Promise<unknown>
) {
  const names = Object.keys(expected)
  const values = () =>
    Promise.all(names.map(async (name) => Number(await sample(app, name))))
  const before = await values()
  await action()
  const after = await values()

  const by = names.map((name, index) => [
    name,
    Number(after[index]) - Number(before[index])
  ])
  t.same(Object.fromEntries(by), expected)
}

const counts = {
  'http_errors_total{operation="listNotes",code="internal_error"}': 1,
  'http_errors_total{operation="listNotes",code="unavailable"}': 0,
  'http_errors_total{operation="none",code="outcome_unknown"}': 0,
  'http_errors_total{operation="none",code="list_too_long"}': 0,
  rate_limited_total: 1,
  'auth_failures_total{reason="unknown"}': 2,
  'auth_failures_total{reason="revoked"}': 0,
  'database_statement_seconds_count{statement="createNote",outcome="ok"}': 1,
  'database_statement_seconds_count{statement="listNotes",outcome="failed"}': 1,
  'database_errors_total{code="internal_error"}': 1,
  'database_errors_total{code="constraint_violated"}': 1,
  'database_errors_total{code="unavailable"}': 0,
  'database_errors_total{code="outcome_unknown"}': 0
}

const violation = `
  DO $$ BEGIN
    RAISE unique_violation USING CONSTRAINT = 'notes_name_key';
  END $$`

/** The codes of the malformed requests below. */
const malformed = ['invalid_request', 'request_timeout', 'headers_too_large']

t.test('requests and their errors are counted', async (t) => {
  const service = await startNotes(t, {
    config: {
      ...config,
      MAX_REQUESTS_PER_MINUTE: 6
    }
  })
  service.app.server.headersTimeout = 500

  await increases(t, service.app, counts, async () => {
    await createNote(service)
    for (const name of ['x', 'x', 'y'])
      await createNote(service, name, { 'idempotency-key': 'a' })
    await listNotes(service)
    await breakNotes(service.databaseUrl)
    await listNotes(service)
    t.equal((await listNotes(service)).statusCode, 429)

    const wrong = { authorization: `Bearer ${makeKey()}` }
    for (let count = 0; count < 2; count++)
      t.equal((await listNotes(service, wrong)).statusCode, 401)

    await t.rejects(service.database.run('writes', { text: violation }))
    await send(service, 'nonsense\r\n\r\n')
    await send(service, 'GET / HTTP/1.1\r\n')
    await send(service, request('GET /', { X: 'x'.repeat(100_000) }))
  })

  const duration = 'http_request_duration_seconds_count'
  for (const [operation, status, count] of [
    ['createNote', 201, 3],
    ['listNotes', 200, 1],
    ['listNotes', 429, 1]
  ] as const) {
    const series = `{operation="${operation}",status="${status}"}`
    t.equal(await sample(service.app, duration + series), count, series)
  }
  for (const code of malformed) {
    const series = `http_errors_total{operation="none",code="${code}"}`
    t.equal(await sample(service.app, series), 1, series)
  }
})

t.test('connections to the database and timeouts are measured', async (t) => {
  const service = await startNotes(t, { config: { DATABASE_TIMEOUT_MS: 2000 } })
  const active = () =>
    sample(service.app, 'database_connections_active{pool="shared"}')
  t.equal(await active(), 0)

  const lock = await lockTable(t, service.databaseUrl, 'notes')
  const timeouts =
    'database_statement_seconds_count{statement="listNotes",outcome="timeout"}'
  await increases(t, service.app, { [timeouts]: 1 }, async () => {
    const list = listNotes(service)
    await lockAwaited(service.databaseUrl)
    t.equal(await active(), 1)
    t.equal((await list).statusCode, 503)
  })
  await lock.release()
})

t.test('connections and readiness are measured', async (t) => {
  const service = await startNotes(t, { config })
  const isOpen = async () =>
    (await sample(service.app, 'http_connections')) === 1
  const bytes = getRequest('/readyz') + 'GET / HTTP/1.1\r\n'
  const { responded, socket } = openConnection(t, service, bytes)
  await responded
  await until(isOpen, 'its connection is counted alone')
  t.equal(await sample(service.app, 'ready'), 1)

  socket.resetAndDestroy()
  await disconnected(service)
  const errors = 'http_errors_total{operation="none",code="invalid_request"}'
  t.equal(await sample(service.app, errors), undefined)
  t.equal(await sample(service.app, 'http_connections'), 0)

  const { databaseUrl, app } = service
  await query(databaseUrl, "DELETE FROM pgmigrations WHERE name = '0002_notes'")
  await app.inject('/readyz')
  t.equal(await sample(service.app, 'ready'), 0)
  t.equal(await sample(service.app, 'migrations_pending'), 1)
})

t.test('METRICS_PORT serves the metrics', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  const service = serveNotes(t, { METRICS_PORT: '0', DATABASE_URL })
  const [, url = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)
  const response = await fetch(url)
  t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
  const text = await response.text()
  t.match(text, /^nodejs_eventloop_lag_p99_seconds\{host="\S+"\} \d/m)
  t.match(text, /^build_info\{version="\S+",environment="development"\} 1$/m)
  t.equal((await fetch(`${await started(service)}/metrics`)).status, 404)
  t.equal((await fetch(new URL('/livez', url))).status, 200)
  t.equal(await service.stop(), 0)
})
