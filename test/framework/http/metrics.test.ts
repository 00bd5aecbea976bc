import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { lockAwaited, lockTable, query } from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import {
  breakNotes,
  createNote,
  listNotes,
  makeKey,
  startNotes
} from '../../support/notes.ts'
import { freePort } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import {
  disconnected,
  getRequest,
  openConnection,
  send
} from './raw-requests.ts'

/** What the first test counts. */
const counts = {
  'http_errors_total{operation="listNotes",code="internal_error"}': 1,
  'http_errors_total{operation="none",code="outcome_unknown"}': 0,
  rate_limited_total: 1,
  'auth_failures_total{reason="unknown"}': 1,
  'auth_failures_total{reason="revoked"}': 0,
  'database_statement_seconds_count{statement="createNote",outcome="ok"}': 1,
  'database_statement_seconds_count{statement="listNotes",outcome="failed"}': 1,
  'database_errors_total{code="internal_error"}': 1,
  'database_errors_total{code="constraint_violated"}': 1,
  'database_errors_total{code="unavailable"}': 0
}

/** The values of the series above. */
async function valuesIn(app: FastifyInstance) {
  const values: Record<string, number | undefined> = {}
  for (const name of Object.keys(counts)) values[name] = await sample(app, name)
  return values
}

const violation = `
  DO $$ BEGIN
    RAISE unique_violation USING CONSTRAINT = 'notes_name_key';
  END $$`

t.test('requests and their errors are counted', async (t) => {
  const service = await startNotes(t, {
    config: { METRICS_PORT: 0, MAX_REQUESTS_PER_MINUTE: 6 }
  })
  const { app } = service
  for (const [name, value] of Object.entries(await valuesIn(app)))
    t.equal(value, 0, `an alert sees the first ${name}`)

  await createNote(service)
  for (const name of ['x', 'x', 'y'])
    await createNote(service, name, { 'idempotency-key': 'a' })
  await listNotes(service)
  await breakNotes(service.databaseUrl)
  await listNotes(service)
  t.equal((await listNotes(service)).statusCode, 429)
  const wrong = { authorization: `Bearer ${makeKey()}` }
  t.equal((await listNotes(service, wrong)).statusCode, 401)
  await t.rejects(service.database.run('writes', { text: violation }))
  t.same(await valuesIn(app), counts)

  await send(service, 'nonsense\r\n\r\n')
  const requests = 'http_request_duration_seconds_count'
  for (const [series, count] of [
    ['http_errors_total{operation="none",code="invalid_request"}', 1],
    [`${requests}{operation="createNote",status="201"}`, 3],
    [`${requests}{operation="listNotes",status="429"}`, 1]
  ] as const)
    t.equal(await sample(app, series), count, series)
})

t.test('connections to the database and timeouts are measured', async (t) => {
  const service = await startNotes(t, { config: { DATABASE_TIMEOUT_MS: 2000 } })
  const active = () =>
    sample(service.app, 'database_connections_active{pool="shared"}')
  t.equal(await active(), 0)

  const lock = await lockTable(t, service.databaseUrl, 'notes')
  const timeouts =
    'database_statement_seconds_count{statement="listNotes",outcome="timeout"}'
  const list = listNotes(service)
  await lockAwaited(service.databaseUrl)
  t.equal(await active(), 1)
  t.equal((await list).statusCode, 503)
  t.equal(await sample(service.app, timeouts), 1)
  await lock.release()
})

t.test('connections and readiness are measured', async (t) => {
  const service = await startNotes(t)
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
  const METRICS_PORT = await freePort()
  const { url, app } = await startNotes(t, { config: { METRICS_PORT } })
  const address = `http://127.0.0.1:${METRICS_PORT}`
  const response = await fetch(`${address}/metrics`)
  t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
  const text = await response.text()
  t.match(text, /^nodejs_eventloop_lag_p99_seconds\{host="\S+"\} \d/m)
  t.match(text, /^build_info\{version="\S+",environment="development"\} 1$/m)
  t.equal((await fetch(`${url}/metrics`)).status, 404)
  t.equal((await fetch(`${address}/livez`)).status, 200)
  await app.close()
  await t.rejects(fetch(`${address}/livez`))
})
