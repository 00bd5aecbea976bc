// Traces through a real OpenTelemetry Collector. Run by
// `npm run collector --prefix tools/deploy-check`, which builds it.
import t, { type Test } from 'tap'
import { serviceName } from '../../generated/names.ts'
import { createDatabase } from '../../test/support/database.ts'
import { serve, started } from '../../test/support/process.ts'
import { createKeyIn } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import {
  kind,
  type ReceivedSpan,
  startReceiver
} from '../../test/support/receiver.ts'
import { Collector, version } from './collector.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callerId = '00f067aa0ba902b7'
const traceparent = { traceparent: `00-${traceId}-${callerId}-01` }

/** Seconds: spans wait for five, and an export is tried several times. */
const exportSeconds = 60

/** Requests that are sent together. */
const gatheredCount = 20

/** Sends a request, and returns its status. */
type Send = (path: string, headers?: object, body?: object) => Promise<number>

/** Starts a collector that is not running yet, and a service that uses it. */
async function startTraced(t: Test) {
  const receiver = await startReceiver(t)
  const collector = await Collector.prepare(t, receiver.endpoint)
  const databaseUrl = await createDatabase(t)
  const key = await createKeyIn(databaseUrl)
  const service = serve(t, {
    DATABASE_URL: databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    OTEL_TRACES_SAMPLER: 'always_on'
  })
  const url = await started(service)

  const send: Send = async (path, headers = {}, body) => {
    const response = await fetch(`${url}/v1/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...headers
      },
      ...(body && { body: JSON.stringify(body) })
    })
    await response.arrayBuffer()
    return response.status
  }

  return { receiver, collector, service, send }
}

const lost = '"traces cannot be exported, and are lost"'
const again = '"traces are exported again"'

/** How often the output has a text. */
const occurrences = (output: string, text: string) =>
  output.split(text).length - 1

/** Sends requests of all kinds, and returns how many. */
async function sendAllKinds(t: Test, send: Send): Promise<number> {
  const create = { 'idempotency-key': 'a' }
  const statuses = [
    await send('categories'),
    await send('categories', traceparent),
    await send('categories', { ...create, ...traceparent }, { name: 'x' }),
    // A replay.
    await send('categories', create, { name: 'x' }),
    await send('categories', {}, { name: 1 }),
    await send('unknown')
  ]
  t.same(statuses, [200, 200, 201, 201, 400, 404])

  // They share reads and writes.
  const gathered = await Promise.all(
    Array.from({ length: gatheredCount }, (_, n) =>
      n % 2 ? send('pets/1') : send('categories', {}, { name: 'x' })
    )
  )
  t.same(new Set(gathered), new Set([404, 201]))

  return statuses.length + gathered.length
}

/** Expects that a collector has passed on all spans. */
async function expectNoLoss(
  t: Test,
  collector: Collector,
  spans: ReceivedSpan[]
) {
  const accepted = await collector.count('receiver_accepted_spans')
  const hasSent = async () =>
    (await collector.count('exporter_sent_spans')) === accepted
  await until(hasSent, 'the collector has sent all spans')

  t.equal(spans.length, accepted)
  t.equal(await collector.count('receiver_refused_spans'), 0)
  t.equal(await collector.count('receiver_failed_spans'), 0)
  t.equal(await collector.count('exporter_send_failed_spans'), 0)
}

function expectAttributes(t: Test, spans: ReceivedSpan[]): void {
  for (const { resource } of spans) {
    t.match(resource, {
      'service.name': serviceName,
      'service.version': /^\d+\.\d+\.\d+$/,
      'telemetry.sdk.language': 'nodejs'
    })
  }

  const unknown = spans.find(({ name }) => name === 'GET')
  t.match(unknown?.attributes, {
    'http.request.method': 'GET',
    'http.response.status_code': 404,
    'error.type': 'not_found'
  })
}

/** Expects that parents and links are spans that have arrived. */
function expectRelations(t: Test, spans: ReceivedSpan[]): void {
  const known = new Set([callerId, ...spans.map(({ spanId }) => spanId)])
  for (const { name, parentSpanId = callerId, links } of spans) {
    t.ok(
      [parentSpanId, ...links].every((id) => known.has(id)),
      name
    )
  }

  const traced = spans.filter(
    (span) => span.kind === kind.server && span.traceId === traceId
  )
  t.same(
    traced.map(({ parentSpanId }) => parentSpanId),
    [callerId, callerId]
  )

  const writes = spans.filter(({ name }) => name === 'grouped write')
  const linkCount = writes.flatMap(({ links }) => links).length
  t.equal(linkCount, 2 + gatheredCount / 2, 'each create is in a group')
  t.ok(spans.some(({ name }) => name === 'shared read pets-by-id'))
}

t.test('all spans arrive as they were sent', async (t) => {
  t.comment(version)
  const { receiver, collector, service, send } = await startTraced(t)
  const { spans } = receiver
  await collector.start()

  const requestCount = await sendAllKinds(t, send)
  const haveArrived = () =>
    spans.filter((span) => span.kind === kind.server).length === requestCount
  await until(haveArrived, 'all requests arrive', exportSeconds)
  t.equal(await service.stop(), 0)

  await expectNoLoss(t, collector, spans)
  expectAttributes(t, spans)
  expectRelations(t, spans)
})

t.test('an outage of the collector is two lines, and no request', async (t) => {
  const { receiver, collector, service, send } = await startTraced(t)
  const statuses = new Set<number>()

  /** Sends requests until the log has a line for the `count`th time. */
  const sendUntilLogged = (line: string, count: number) =>
    until(
      async () => {
        statuses.add(await send('categories'))
        return occurrences(service.output(), line) === count
      },
      `${line}: ${count}`,
      exportSeconds
    )

  await sendUntilLogged(lost, 1)
  await collector.start()
  await sendUntilLogged(again, 1)

  await collector.kill()
  await sendUntilLogged(lost, 2)
  await collector.start()
  await sendUntilLogged(again, 2)

  collector.freeze()
  await sendUntilLogged(lost, 3)
  collector.resume()
  await sendUntilLogged(again, 3)

  t.equal(await service.stop(), 0)
  t.equal(occurrences(service.output(), lost), 3)
  t.equal(occurrences(service.output(), again), 3)
  t.same(statuses, new Set([200]))
  t.ok(receiver.spans.length > 0)
})
