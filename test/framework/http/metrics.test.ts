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
  listRequest,
  openConnection,
  send
} from './raw-requests.ts'

const duration = 'http_request_duration_seconds_count'
const statement = 'database_statement_seconds_count'
const parserErrors = 'http_parser_errors_total'
const config = { METRICS_PORT: 0 }

/**
 * Checks by how much an action increases counters. Each must have a value
 * before: an alert does not see the first failure of a series that begins with
 * it.
 */
async function increases(
  t: Test,
  expected: Record<string, number>,
  action: () => Promise<unknown>
) {
  const names = Object.keys(expected)
  const values = () =>
    Promise.all(names.map(async (name) => Number(await sample(name))))
  const before = await values()
  await action()
  const after = await values()

  const by = names.map((name, index) => [
    name,
    Number(after[index]) - Number(before[index])
  ])
  t.same(Object.fromEntries(by), expected)
}

t.test('requests and their errors are counted', async (t) => {
  const limits = { MAX_REQUESTS_PER_MINUTE: 3, MAX_REJECTED_KEYS_PER_MINUTE: 1 }
  const service = await startNotes(t, { config: { ...config, ...limits } })
  const listWith = (headers: object) =>
    listNotes(service, headers).then(({ statusCode }) => statusCode)
  const wrong = { authorization: `Bearer ${makeKey()}` }

  const counts = {
    'http_errors_total{operation="listNotes",code="internal_error"}': 1,
    'http_errors_total{operation="listNotes",code="unavailable"}': 0,
    'http_errors_total{operation="none",code="outcome_unknown"}': 0,
    'rate_limited_total{limit="key"}': 1,
    'rate_limited_total{limit="rejected"}': 1,
    'auth_failures_total{reason="unknown"}': 2,
    'auth_failures_total{reason="revoked"}': 0,
    [`${statement}{statement="create-notes",outcome="ok"}`]: 1,
    [`${statement}{statement="list-of-notes",outcome="ok"}`]: 1,
    [`${statement}{statement="list-of-notes",outcome="failed"}`]: 1,
    shared_read_requests_sum: 2
  }
  await increases(t, counts, async () => {
    t.equal((await createNote(service)).statusCode, 201)
    t.equal(await listWith({}), 200)
    await breakNotes(service.databaseUrl)
    t.equal(await listWith({}), 500)
    t.equal(await listWith({}), 429)
    t.equal(await listWith(wrong), 401)
    t.equal(await listWith(wrong), 429)
  })

  const list = `${duration}{operation="listNotes",status=`
  t.equal(await sample(`${duration}{operation="createNote",status="201"}`), 1)
  t.equal(await sample(`${list}"200"}`), 1)
  t.equal(await sample(`${list}"429"}`), 2)
  t.equal(await sample('grouped_write_rows_sum{statement="create-notes"}'), 1)
})

t.test('an error of the database is counted by its code', async (t) => {
  const { database } = await startNotes(t)
  const expected = {
    'database_errors_total{code="constraint_violated"}': 1,
    'database_errors_total{code="internal_error"}': 1,
    'database_errors_total{code="unavailable"}': 0,
    'database_errors_total{code="outcome_unknown"}': 0
  }
  await increases(t, expected, async () => {
    const text = `
      DO $$ BEGIN
        RAISE unique_violation USING CONSTRAINT = 'notes_name_key';
      END $$`
    await t.rejects(database.write({ text }))
    await t.rejects(database.write({ text: 'SELECT 1 / 0' }))
  })
})

t.test('connections to the database and timeouts are measured', async (t) => {
  const service = await startNotes(t, { config: { DATABASE_TIMEOUT_MS: 2000 } })
  const connections = (state: string) =>
    sample(`database_connections{state="${state}"}`)
  t.equal(await connections('active'), 0)
  t.ok(Number(await connections('idle')) > 0)
  t.equal(await sample('database_connections_max'), 10)
  t.equal(await sample('database_statements_waiting'), 0)

  const lock = await lockTable(t, service.databaseUrl, 'notes')
  const late = `${statement}{statement="list-of-notes",outcome="timeout"}`
  await increases(t, { [late]: 1 }, async () => {
    const list = listNotes(service)
    await lockAwaited(service.databaseUrl)
    t.equal(await connections('active'), 1)
    t.equal((await list).statusCode, 503)
  })
  await lock.release()
})

t.test('creates with an Idempotency-Key are counted', async (t) => {
  const service = await startNotes(t)
  const outcome = (name: string) =>
    `idempotent_creates_total{table="notes",outcome="${name}"}`
  const expected = {
    [outcome('created')]: 1,
    [outcome('replayed')]: 1,
    [outcome('reused')]: 1,
    [outcome('held')]: 0
  }
  await increases(t, expected, async () => {
    for (const name of ['x', 'x', 'y'])
      await createNote(service, name, { 'idempotency-key': 'a' })
    await createNote(service)
  })
})

t.test('requests that are not valid HTTP are counted', async (t) => {
  const service = await startNotes(t, {
    config: { ...config, HEADERS_TIMEOUT_MS: 500 }
  })
  const expected = {
    [`${parserErrors}{code="invalid_request"}`]: 1,
    [`${parserErrors}{code="request_timeout"}`]: 1,
    [`${parserErrors}{code="headers_too_large"}`]: 1
  }
  await increases(t, expected, async () => {
    await send(service, listRequest())
    await send(service, 'nonsense\r\n\r\n')
    await send(service, 'GET / HTTP/1.1\r\n')
    await send(service, listRequest({ 'X-Large': 'x'.repeat(100_000) }))
  })
})

t.test('connections and readiness are measured', async (t) => {
  const service = await startNotes(t, {
    config: { ...config, MAX_CONNECTIONS: 7 }
  })
  const isOpen = async () => (await sample('http_connections')) === 1
  const bytes = getRequest('/readyz') + 'GET / HTTP/1.1\r\n'
  const { responded, socket } = openConnection(t, service, bytes)
  await responded
  await until(isOpen, 'its connection is counted alone')
  t.equal(await sample('http_connections_max'), 7)
  t.equal(await sample('ready'), 1)

  // A reset is not an error of the parser.
  await increases(t, { [`${parserErrors}{code="invalid_request"}`]: 0 }, () => {
    socket.resetAndDestroy()
    return disconnected(service)
  })
  t.equal(await sample('http_connections'), 0)
  service.app.isDraining = true
  await service.app.inject('/readyz')
  t.equal(await sample('ready'), 0)
})

t.test('proxies that are not trusted are counted', async (t) => {
  const ignoring = await startNotes(t, { config })
  const trusting = await startNotes(t, {
    config: { ...config, TRUST_PROXY: '1' }
  })
  await increases(t, { http_untrusted_forwards_total: 1 }, async () => {
    const headers = { 'x-forwarded-for': '192.0.2.1' }
    await ignoring.app.inject('/livez')
    await ignoring.app.inject({ url: '/livez', headers })
    await trusting.app.inject({ url: '/livez', headers })
  })
})

t.test('pending migrations are counted', async (t) => {
  const { app, databaseUrl } = await startNotes(t)
  await query(databaseUrl, "DELETE FROM pgmigrations WHERE name = '0002_notes'")
  t.equal((await app.inject('/readyz')).statusCode, 503)
  t.equal(await sample('migrations_pending'), 1)
})

t.test('METRICS_PORT serves the metrics', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  const service = serveNotes(t, { METRICS_PORT: '0', DATABASE_URL })
  const [, url = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)
  const response = await fetch(url)
  t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
  const text = await response.text()
  t.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m)
  t.match(text, /^build_info\{version="\S+",environment="development"\} 1$/m)
  t.equal((await fetch(`${await started(service)}/metrics`)).status, 404)
  t.equal(await service.stop(), 0)
})
