// Spans, as they are exported, and the service without them.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { diag, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node'
import t from 'tap'
import { abortList } from './http/raw-requests.ts'
import { createDatabase, query } from '../support/database.ts'
import {
  createKey,
  createNote,
  listNotes,
  serveNotes,
  serviceName,
  startNotes
} from '../support/notes.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { started } from '../support/process.ts'
import { recorder } from '../support/recorder.ts'
import { get, remove } from '../support/requests.ts'
import type { Service } from '../support/service.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callerId = '00f067aa0ba902b7'
const sampled = { traceparent: `00-${traceId}-${callerId}-01` }
const unsampled = { traceparent: `00-${traceId}-${callerId}-00` }

/** Of a collector: nothing listens on the port of discard. */
const absent = 'http://127.0.0.1:9'

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
function only(spans: ReadableSpan[], name: string): ReadableSpan {
  const [span, ...others] = spans.filter((one) => one.name === name)
  if (span === undefined || others.length > 0)
    throw new Error(`${name}: ${spans.map((one) => one.name).join()}`)
  return span
}

/** Sends requests with and without spans. */
async function sendAll(service: Service): Promise<void> {
  await get(service, 'notes/1?x=secret', sampled)
  await createNote(service, 'one', sampled)
  await listNotes(service, unsampled)
  await service.app.inject({ url: '/livez', headers: sampled })
  await query(service.databaseUrl, 'ALTER TABLE notes RENAME TO gone')
  await remove(service, 'notes/1', sampled)
}

const rejectedRead = {
  kind: SpanKind.SERVER,
  parentSpanContext: { traceId, spanId: callerId },
  status: { code: SpanStatusCode.UNSET },
  attributes: {
    'http.request.method': 'GET',
    'http.route': '/v1/notes/:noteId',
    'http.response.status_code': 400,
    'error.type': 'invalid_request'
  },
  resource: {
    attributes: {
      'service.name': serviceName,
      'service.version': '1.0.0',
      'telemetry.sdk.language': 'nodejs'
    }
  }
}

t.test('requests have spans', async (t) => {
  const { lines, log } = recorder()
  const { OTLPTraceExporter } =
    await import('@opentelemetry/exporter-trace-otlp-http')
  const exported = t.capture(
    OTLPTraceExporter.prototype,
    'export',
    (_spans: ReadableSpan[], done: (result: { code: number }) => void) =>
      done({ code: 0 })
  )
  const config = { OTEL_EXPORTER_OTLP_ENDPOINT: absent }
  const service = await startNotes(t, { log, config })

  await abortList(t, service, sampled)
  await sendAll(service)
  diag.warn('one')
  diag.warn('another, within a minute')
  // Exports what is left.
  await service.app.close()
  const spans = exported().flatMap(({ args: [some] }) => some)

  t.match(only(spans, 'GET /v1/notes/:noteId'), rejectedRead)

  const create = only(spans, 'POST /v1/notes').spanContext()
  t.match(
    lines.find(({ operation }) => operation === 'createNote'),
    { trace_id: create.traceId, span_id: create.spanId }
  )
  t.match(only(spans, 'DELETE /v1/notes/:noteId'), {
    status: { code: SpanStatusCode.ERROR },
    attributes: {
      'http.response.status_code': 503,
      'error.type': 'unavailable'
    }
  })

  t.match(only(spans, 'GET /v1/notes'), {
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'aborted' }
  })
  t.same(
    lines.map(({ msg }) => String(msg)).filter((msg) => /^traces/.test(msg)),
    ['traces: one']
  )

  const texts = spans.map(({ name, attributes, events }) =>
    JSON.stringify([name, attributes, events])
  )
  t.notMatch(texts.join(), /secret|note_[0-9a-f]{9}/)
  t.equal(spans.length, 4)
})

t.test(
  'a collector that is absent, hangs or rejects delays nothing',
  async (t) => {
    let received = ''
    let isRejecting = false
    const collector = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => {
        received += chunk.toString()
      })
      request.on('end', () => {
        if (isRejecting) response.writeHead(400).end()
      })
    })
    const present = `http://127.0.0.1:${await listenOnLoopback(t, collector)}`
    const databaseUrl = await createDatabase(t)
    const key = await createKey(t, databaseUrl)
    const headers = { authorization: `Bearer ${key}` }

    const collectors = { absent, hanging: present, rejecting: present }
    for (const [behaviour, endpoint] of Object.entries(collectors)) {
      isRejecting = behaviour === 'rejecting'
      const service = serveNotes(t, {
        DATABASE_URL: databaseUrl,
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint
      })
      const url = await started(service)
      t.equal((await fetch(`${url}/v1/notes`, { headers })).status, 200)

      t.equal(await service.stop(), 0)
      t.match(service.output(), '"stopped"')
      if (isRejecting)
        t.match(service.output(), '"traces: the last spans are lost"')
    }
    t.match(received, '"name":"GET /v1/notes"')
  }
)

t.test('a stop does not wait for an export that never ends', async (t) => {
  // The first provider of a process would stay the global one.
  trace.disable()
  t.intercept(process, 'env', {
    value: { ...process.env, OTEL_BSP_EXPORT_TIMEOUT: '3600000' }
  })
  const { OTLPTraceExporter } =
    await import('@opentelemetry/exporter-trace-otlp-http')
  const exported = t.capture(
    OTLPTraceExporter.prototype,
    'export',
    (...args: [ReadableSpan[], (result: { code: number }) => void]) => args
  )
  const { lines, log } = recorder()
  const config = { OTEL_EXPORTER_OTLP_ENDPOINT: absent }
  const service = await startNotes(t, { log, config })
  await listNotes(service)
  await service.app.close()
  const last = lines.find(
    ({ msg }) => msg === 'traces: the last spans are lost'
  )
  t.match(last, { err: { message: 'the exports take too long' } })
  // Ends the timer of the SDK.
  for (const { args } of exported()) args[1]({ code: 0 })
})
