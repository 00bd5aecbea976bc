// Spans, as a receiver of OTLP gets them.
import { createRequire } from 'node:module'
import t, { type Test } from 'tap'
import {
  disconnected,
  listRequest,
  openConnection,
  request,
  send
} from '../http/raw-requests.ts'
import { recorder } from '../../support/recorder.ts'
import { lockAwaited, lockTable, query } from '../../support/database.ts'
import {
  breakNotes,
  createNote,
  listNotes,
  startNotes,
  serviceName,
  makeKey
} from '../../support/notes.ts'
import { gather, get } from '../../support/requests.ts'
import type { ServiceOptions } from '../../support/service.ts'
import { kind, type ReceivedSpan, startReceiver } from './receiver.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callerId = '00f067aa0ba902b7'
const sampled = { traceparent: `00-${traceId}-${callerId}-01` }
const unsampled = { traceparent: `00-${traceId}-${callerId}-00` }

/** The SQLSTATE of breakNotes(). */
const divisionByZero = '22012'

/** A service that exports the requests that their callers sample. */
async function startTraced(t: Test, options: ServiceOptions = {}) {
  const receiver = await startReceiver(t)
  const service = await startNotes(t, {
    ...options,
    config: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      ...options.config
    }
  })

  /** Closes the app, which exports what is left. */
  async function exported(): Promise<ReceivedSpan[]> {
    await service.app.close()
    return receiver.spans
  }

  return { receiver, service, exported }
}

const named = (spans: ReceivedSpan[], name: string) =>
  spans.filter((span) => span.name === name)

/** The only span of this name. */
function only(spans: ReceivedSpan[], name: string): ReceivedSpan {
  const [span, ...others] = named(spans, name)
  if (span === undefined || others.length > 0)
    throw new Error(`${name}: ${JSON.stringify(spans, null, 2)}`)
  return span
}

const childrenOf = (spans: ReceivedSpan[], { spanId }: ReceivedSpan) =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId)

/** Whether this process has loaded the SDK. */
function hasSdk(): boolean {
  const { cache } = createRequire(import.meta.url)
  return Object.keys(cache).some((file) =>
    file.includes('@opentelemetry/sdk-trace')
  )
}

// First: other tests load it.
t.test('without an endpoint, the SDK is not loaded', async (t) => {
  const service = await startNotes(t)
  t.equal((await listNotes(service, sampled)).statusCode, 200)
  t.equal(hasSdk(), false)

  const traced = await startTraced(t)
  await traced.service.app.close()
  t.equal(hasSdk(), true)
})

t.test('a sampled request has a span below that of its caller', async (t) => {
  const { receiver, service, exported } = await startTraced(t)
  await createNote(service)
  await get(service, 'notes/1?x=secret', sampled)
  await get(service, 'notes/1', sampled)

  const spans = await exported()
  const [rejectedSpan, readSpan] = named(spans, 'GET /v1/notes/:noteId')

  const common = {
    kind: kind.server,
    traceId,
    parentSpanId: callerId,
    isError: false,
    resource: {
      'service.name': serviceName,
      'service.version': '1.0.0',
      'telemetry.sdk.language': 'nodejs'
    }
  }
  const attributes = {
    'http.request.method': 'GET',
    'http.route': '/v1/notes/:noteId',
    'url.path': '/v1/notes/1',
    'url.scheme': 'http'
  }

  t.match(readSpan, {
    ...common,
    attributes: { ...attributes, 'http.response.status_code': 200 }
  })
  t.match(rejectedSpan, {
    ...common,
    attributes: {
      ...attributes,
      'http.response.status_code': 400,
      'error.type': 'invalid_request'
    }
  })

  t.same([...new Set(receiver.paths)], ['/v1/traces'])
})

t.test('a request that is not sampled has no span', async (t) => {
  const { receiver, service, exported } = await startTraced(t)
  t.equal((await listNotes(service, unsampled)).statusCode, 200)
  t.equal((await createNote(service)).statusCode, 201)

  t.same(await exported(), [])
  t.same(receiver.paths, [])
})

t.test('requests that share a read are linked with its span', async (t) => {
  const { service, exported } = await startTraced(t)
  await createNote(service)
  const responses = await gather(t, service, {
    table: 'notes',
    send: (headers: object) => get(service, 'notes/1', headers),
    leaders: [unsampled],
    followers: [sampled, unsampled, sampled]
  })
  t.same(
    responses.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200]
  )

  const spans = await exported()
  const [first, second] = named(spans, 'GET /v1/notes/:noteId')
  const shared = only(spans, 'shared read notes-by-id')
  t.same(shared.links, [first?.spanId, second?.spanId])
  t.equal(shared.parentSpanId, first?.spanId)
  t.same(second?.links, [shared.spanId])
  t.equal(shared.attributes['batch.size'], 3)
  t.ok(Number(shared.attributes['batch.wait_ms']) > 0)
  for (const link of shared.linkAttributes)
    t.ok(Number(link['batch.wait_ms']) > 0)

  t.match(childrenOf(spans, shared), [
    {
      name: 'notes-by-id',
      kind: kind.client,
      traceId,
      attributes: {
        'db.system.name': 'postgresql',
        'db.namespace': new URL(service.databaseUrl).pathname.slice(1),
        'db.query.summary': 'notes-by-id'
      },
      events: ['connected'],
      isError: false
    }
  ])
})

t.test('creates of a group are linked with its span', async (t) => {
  const { service, exported } = await startTraced(t)
  await gather(t, service, {
    table: 'notes',
    send: (headers: object) => createNote(service, 'x', headers),
    leaders: [unsampled],
    followers: [sampled, sampled]
  })

  const spans = await exported()
  const creates = named(spans, 'POST /v1/notes')
  const group = only(spans, 'grouped write')
  t.same(
    group.links,
    creates.map(({ spanId }) => spanId)
  )
  t.equal(group.links.length, 2)
  t.match(childrenOf(spans, group), [{ name: 'create-notes' }])
})

t.test('the statements of a list are below its read', async (t) => {
  const { service, exported } = await startTraced(t)
  await listNotes(service, sampled)

  const spans = await exported()
  const read = only(spans, 'shared read of a list')
  t.equal(read.parentSpanId, only(spans, 'GET /v1/notes').spanId)
  t.same(
    childrenOf(spans, read).map(({ name }) => name),
    ['table-version', 'piece-of-notes']
  )
})

t.test('pieces of a long list are all below its read', async (t) => {
  const { service, exported } = await startTraced(t)
  await query(
    service.databaseUrl,
    `INSERT INTO notes (id, name)
     SELECT id, repeat('x', 200000) FROM generate_series(1, 3) AS id`
  )
  await listNotes(service, sampled)

  const spans = await exported()
  const read = only(spans, 'shared read of a list')
  const [, firstTry, secondTry, ...rest] = childrenOf(spans, read)
  t.match(
    [firstTry, secondTry],
    [{ name: 'piece-of-notes' }, { name: 'piece-of-notes' }]
  )
  t.ok(rest.length > 0)
  for (const { name } of rest) t.equal(name, 'next-piece-of-notes')
})

t.test('a failed statement names its code, and no values', async (t) => {
  const { service, exported } = await startTraced(t)
  await breakNotes(service.databaseUrl)
  t.equal((await listNotes(service, sampled)).statusCode, 500)

  const spans = await exported()
  const failed = ['piece-of-notes', 'shared read of a list', 'GET /v1/notes']
  t.match(
    failed.map((name) => only(spans, name)),
    [
      {
        isError: true,
        attributes: {
          'error.type': divisionByZero,
          'db.response.status_code': divisionByZero
        }
      },
      { isError: true, attributes: { 'error.type': divisionByZero } },
      { isError: true, attributes: { 'error.type': 'internal_error' } }
    ]
  )
  t.notMatch(JSON.stringify(spans), /division/)
})

t.test('spans have no API key, and no unknown path', async (t) => {
  const { service, exported } = await startTraced(t)
  await get(service, `notes/${makeKey()}`, sampled)
  await get(service, `unknown/${makeKey()}`, sampled)

  const spans = await exported()
  t.match(only(spans, 'GET /v1/notes/:noteId').attributes, {
    'url.path': /^\/v1\/notes\/petcat_\w{0,8}\*{3}$/,
    'http.response.status_code': 400
  })
  const unknown = only(spans, 'GET')
  t.equal(unknown.attributes['url.path'], undefined)
  t.equal(unknown.attributes['error.type'], 'not_found')
  t.notMatch(JSON.stringify(spans), service.key)
})

t.test('a method that OpenTelemetry does not know is _OTHER', async (t) => {
  const { service, exported } = await startTraced(t)
  await send(service, request('PROPFIND /v1/notes', sampled))

  t.match(only(await exported(), 'HTTP').attributes, {
    'http.request.method': '_OTHER',
    'http.request.method_original': 'PROPFIND',
    'http.response.status_code': 405
  })
})

t.test('health checks have no spans', async (t) => {
  const { service, exported } = await startTraced(t)
  await service.app.inject({ url: '/livez', headers: sampled })
  t.same(await exported(), [])
})

t.test('a sampler may trace what the caller does not', async (t) => {
  const { service, exported } = await startTraced(t, {
    config: { OTEL_TRACES_SAMPLER: 'always_on' }
  })
  await listNotes(service, unsampled)

  const { parentSpanId } = only(await exported(), 'GET /v1/notes')
  t.equal(parentSpanId, callerId)
})

t.test('a request whose client resets the connection is aborted', async (t) => {
  const { service, exported } = await startTraced(t)
  const { release } = await lockTable(t, service.databaseUrl, 'notes')

  const { socket } = openConnection(t, service, listRequest(sampled))
  await lockAwaited(service.databaseUrl)
  socket.resetAndDestroy()
  await disconnected(service)
  await release()

  t.match(only(await exported(), 'GET /v1/notes'), {
    isError: true,
    attributes: { 'error.type': 'aborted' }
  })
})

t.test('a new trace has its id in the log', async (t) => {
  const { lines, log } = recorder()
  const { service, exported } = await startTraced(t, {
    log,
    config: { OTEL_TRACES_SAMPLER: 'always_on' }
  })
  const { headers } = await listNotes(service)

  const { traceId: newId } = only(await exported(), 'GET /v1/notes')
  t.match(
    lines.find(({ msg }) => msg === 'request'),
    { trace_id: newId, reqId: headers['x-request-id'] }
  )
})
