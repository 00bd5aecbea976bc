// A collector that is away, slow or back, and the end of the service.
import { diag } from '@opentelemetry/api'
import t, { type Test } from 'tap'
import { ReportingExporter } from '../../../src/framework/tracing/reporting-exporter.ts'
import {
  ignoreSdkWarnings,
  logSdkWarnings
} from '../../../src/framework/tracing/sdk-warnings.ts'
import {
  createDatabase,
  lockAwaited,
  lockTable
} from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import { notes, serveNotes } from '../../support/notes.ts'
import { started } from '../../support/process.ts'
import { createKeyIn } from '../../support/service.ts'
import { startReceiver } from './receiver.ts'

/** Nothing listens on the port of discard. */
const nobody = 'http://127.0.0.1:9'

/** The results of an export, by their codes in OpenTelemetry. */
const success = { code: 0 }
const failed = { code: 1, error: new Error('refused') }

/** Starts a process that traces every request. */
async function serveTraced(t: Test, endpoint: string) {
  const databaseUrl = await createDatabase(t)
  const key = await createKeyIn(databaseUrl, notes.names)
  const service = serveNotes(t, {
    DATABASE_URL: databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint
  })
  const url = await started(service)
  const request = () =>
    fetch(`${url}/v1/notes`, { headers: { authorization: `Bearer ${key}` } })

  return { databaseUrl, service, request }
}

t.test('without a collector, requests and the shutdown succeed', async (t) => {
  const { service, request } = await serveTraced(t, nobody)

  t.equal((await request()).status, 200)
  t.equal(await service.stop(), 0)
  t.match(service.output(), '"stopped"')
})

for (const behaviour of ['hang', 'reject'] as const) {
  const title = `with receivers that ${behaviour}, requests and the shutdown succeed`
  t.test(title, async (t) => {
    const receiver = await startReceiver(t)
    receiver.respond(behaviour)
    const { service, request } = await serveTraced(t, receiver.endpoint)

    t.equal((await request()).status, 200)
    t.equal(await service.stop(), 0)
    t.match(service.output(), '"stopped"')
    t.ok(receiver.paths.length > 0)
  })
}

t.test('the spans of requests that are open at the end arrive', async (t) => {
  const receiver = await startReceiver(t)
  const traced = await serveTraced(t, `${receiver.endpoint}/`)
  const { databaseUrl, service, request } = traced

  const { release } = await lockTable(t, databaseUrl, 'notes')
  const response = request()
  await lockAwaited(databaseUrl)
  const exited = service.stop()
  await service.sees(/"stopping"/)
  await release()

  t.equal((await response).status, 200)
  t.equal(await exited, 0)
  t.same(receiver.spans.map(({ name }) => name).sort(), [
    'GET /v1/notes',
    'piece-of-notes',
    'shared read of a list',
    'table-version'
  ])
})

t.test('the log says that the receiver rejected a span', async (t) => {
  const receiver = await startReceiver(t)
  receiver.respond('reject one')
  const { service, request } = await serveTraced(t, receiver.endpoint)

  t.equal((await request()).status, 200)
  t.equal(await service.stop(), 0)
  t.match(service.output(), /"level":40,.*"traces: .*rejectedSpans/)
})

t.test('the log has the warnings of the SDK, each kind once a minute', (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const { lines, log } = recorder()
  logSdkWarnings(log)
  t.teardown(ignoreSdkWarnings)

  diag.error('reported by the exporter')
  diag.warn('Dropped 1 spans')
  diag.warn('Dropped 2 spans')
  diag.warn('Rejected', 'too long')
  diag.warn('Failed to parse trace export response: Unexpected token a')
  diag.warn('Failed to parse trace export response: Unexpected token b')
  now = 60_000
  diag.warn('Dropped 3 spans')

  t.match(lines, [
    { level: 40, msg: 'traces: Dropped 1 spans' },
    { level: 40, msg: 'traces: Rejected too long' },
    { level: 40, msg: /token a$/ },
    { level: 40, msg: 'traces: Dropped 3 spans' }
  ])
  t.equal(lines.length, 4)
  t.end()
})

t.test('the log has the start and the end of failures', async (t) => {
  const { lines, log } = recorder()
  const results = [failed, failed, success, success, failed]
  const exporter = new ReportingExporter(
    {
      export: (_spans, done) => done(results.shift() ?? success),
      shutdown: () => Promise.resolve()
    },
    log
  )

  const codes: number[] = []
  for (let left = results.length; left > 0; left--)
    exporter.export([], ({ code }) => codes.push(code))
  await exporter.shutdown()

  t.same(codes, [1, 1, 0, 0, 1])
  t.match(lines, [
    {
      level: 40,
      msg: 'traces cannot be exported, and are lost',
      err: { message: 'refused' }
    },
    { level: 30, msg: 'traces are exported again' },
    { level: 40 }
  ])
  t.equal(lines.length, 3)
})
