// Spans, as a receiver of OTLP gets them, and the service without one.
import { createRequire } from 'node:module'
import { diag } from '@opentelemetry/api'
import t, { type Test } from 'tap'
import {
  disconnected,
  listRequest,
  openConnection
} from './http/raw-requests.ts'
import {
  createDatabase,
  lockAwaited,
  lockTable,
  query
} from '../support/database.ts'
import {
  breakNotes,
  createNote,
  listNotes,
  notes,
  serveNotes,
  serviceName,
  startNotes
} from '../support/notes.ts'
import { sample } from '../support/metrics.ts'
import { started } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { kind, type ReceivedSpan, startReceiver } from '../support/receiver.ts'
import { recorder } from '../support/recorder.ts'
import { get } from '../support/requests.ts'
import { createKeyIn, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callerId = '00f067aa0ba902b7'
const sampled = { traceparent: `00-${traceId}-${callerId}-01` }
const unsampled = { traceparent: `00-${traceId}-${callerId}-00` }

/** Whether this process has loaded the SDK. */
function hasSdk(): boolean {
  const { cache } = createRequire(import.meta.url)
  return Object.keys(cache).some((file) =>
    file.includes('@opentelemetry/sdk-trace')
  )
}

// First: the other tests of this process load it.
t.test('without an endpoint, the SDK is not loaded', async (t) => {
  const service = await startNotes(t)
  t.equal((await listNotes(service, sampled)).statusCode, 200)
  t.equal(hasSdk(), false)
})

/** The only span of this name. */
function only(spans: ReceivedSpan[], name: string): ReceivedSpan {
  const [span, ...others] = spans.filter((one) => one.name === name)
  if (span === undefined || others.length > 0)
    throw new Error(`${name}: ${JSON.stringify(spans, null, 2)}`)
  return span
}

/** Resets the connection of a list that waits for a lock. */
async function abortList(t: Test, service: Service): Promise<void> {
  const { release } = await lockTable(t, service.databaseUrl, 'notes')
  const { socket } = openConnection(t, service, listRequest(sampled))
  await lockAwaited(service.databaseUrl)
  socket.resetAndDestroy()
  await disconnected(service)
  await release()
}

/**
 * Sends requests with and without spans.
 *
 * @param disconnect takes the database away
 */
async function sendAll(
  service: Service,
  disconnect: () => Promise<unknown>
): Promise<void> {
  await get(service, 'notes/1?x=secret', sampled)
  await createNote(service, 'one', sampled)
  await listNotes(service, unsampled)
  await service.app.inject({ url: '/livez', headers: sampled })

  await breakNotes(service.databaseUrl)
  await deleteNote(service)
  await query(service.databaseUrl, 'DROP VIEW notes')
  await deleteNote(service)
  await disconnect()
  await deleteNote(service)
}

const deleteNote = ({ app, auth }: Service) =>
  app.inject({
    method: 'DELETE',
    url: '/v1/notes/1',
    headers: { ...auth, ...sampled }
  })

/** The spans of a create and of three deletions that failed. */
function statementsAreTraced(
  t: Test,
  { databaseUrl }: Service,
  spans: ReceivedSpan[],
  parentId: string
) {
  t.match(only(spans, 'createNote'), {
    kind: kind.client,
    parentSpanId: parentId,
    attributes: {
      'db.system.name': 'postgresql',
      'db.query.summary': 'createNote',
      'db.namespace': new URL(databaseUrl).pathname.slice(1)
    },
    events: ['connected']
  })

  t.match(
    spans.filter((span) => span.name === 'delete-note'),
    [
      { 'error.type': '22012', 'db.response.status_code': '22012' },
      { 'error.type': 'unavailable', 'db.response.status_code': '42P01' },
      { 'error.type': 'unavailable', 'db.response.status_code': undefined }
    ].map((attributes) => ({ isError: true, attributes }))
  )
}

const rejectedRead = {
  kind: kind.server,
  traceId,
  parentSpanId: callerId,
  isError: false,
  attributes: {
    'http.request.method': 'GET',
    'http.route': '/v1/notes/:noteId',
    'http.response.status_code': 400,
    'error.type': 'invalid_request'
  },
  resource: {
    'service.name': serviceName,
    'service.version': '1.0.0',
    'telemetry.sdk.language': 'nodejs'
  }
}

t.test('requests and their statements have spans', async (t) => {
  const { lines, log } = recorder()
  const receiver = await startReceiver(t)
  const config = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint }
  // The SDK reads its variables from the environment.
  Object.assign(process.env, config)
  const proxy = await startProxy(t, await createDatabase(t))
  const service = await startNotes(t, { log, config, databaseUrl: proxy.url })

  await abortList(t, service)
  await sendAll(service, () => {
    proxy.refuse()
    proxy.cut()
    const idle = 'database_connections{state="idle"}'
    const isNoticed = async () => (await sample(service.database, idle)) === 0
    return until(isNoticed, 'the pool has no connection')
  })
  diag.warn('one')
  diag.warn('another, within a minute')
  // Exports what is left.
  await service.app.close()
  const { spans } = receiver

  t.match(only(spans, 'GET /v1/notes/:noteId'), rejectedRead)

  // Its body is read before its statement is sent.
  const { traceId: createId, spanId } = only(spans, 'POST /v1/notes')
  t.match(
    lines.find(({ operation }) => operation === 'createNote'),
    { trace_id: createId, span_id: spanId }
  )
  statementsAreTraced(t, service, spans, spanId)

  t.match(only(spans, 'GET /v1/notes'), {
    isError: true,
    attributes: { 'error.type': 'aborted' }
  })
  t.same(
    lines.map(({ msg }) => String(msg)).filter((msg) => /^traces/.test(msg)),
    ['traces: one']
  )

  t.equal(
    spans.some(({ name }) => name.includes('livez')),
    false
  )
  t.notMatch(JSON.stringify(spans), /secret|note_[0-9a-f]{9}/)
  t.equal(spans.filter(({ kind: one }) => one === kind.server).length, 6)
})

t.test(
  'a collector that is absent, hangs or rejects delays nothing',
  async (t) => {
    const receiver = await startReceiver(t)
    const databaseUrl = await createDatabase(t)
    const key = await createKeyIn(databaseUrl, notes.names)
    const headers = { authorization: `Bearer ${key}` }

    for (const behaviour of ['absent', 'hang', 'reject'] as const) {
      if (behaviour !== 'absent') receiver.respond(behaviour)
      // Nothing listens on the port of discard.
      const absent = 'http://127.0.0.1:9'
      const service = serveNotes(t, {
        DATABASE_URL: databaseUrl,
        OTEL_EXPORTER_OTLP_ENDPOINT:
          behaviour === 'absent' ? absent : receiver.endpoint
      })
      const url = await started(service)
      t.equal((await fetch(`${url}/v1/notes`, { headers })).status, 200)

      t.equal(await service.stop(), 0)
      t.match(service.output(), '"stopped"')
      if (behaviour === 'reject')
        t.match(service.output(), '"traces: the last spans are lost"')
    }
    t.ok(receiver.spans.length > 0)
  }
)
