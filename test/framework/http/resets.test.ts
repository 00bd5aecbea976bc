import { readdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Config } from '../../../src/framework/config.ts'
import { startNotes } from '../../support/notes.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  anonymous,
  createRequest,
  disconnected,
  fillNotes,
  getRequest,
  inFlight,
  keepAlive,
  listRequest,
  openConnection,
  request
} from './raw-requests.ts'

const getList = listRequest(keepAlive)
const asset = '/docs/static/swagger-ui-bundle.js'

const brokenRequests = [
  // The beginning of TLS.
  '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
  '',
  'GET /liv',
  'GET /livez HTTP/1.1\r\nHost: x\r\nX-Y',
  getRequest('/livez', { 'X-Y': 'x'.repeat(40_000) }),
  request('CONNECT a:1', anonymous),
  getRequest('/', {
    Connection: 'Upgrade, HTTP2-Settings',
    Upgrade: 'h2c',
    'HTTP2-Settings': 'AAMAAABkAAQAAP__'
  })
]

const creates = [
  createRequest('{"na', { ...keepAlive, 'Content-Length': '100' }),
  createRequest('{"na', { ...anonymous, 'Content-Length': '100' }),
  createRequest('5\r\n{"nam\r\n', {
    ...keepAlive,
    'Content-Length': undefined,
    'Transfer-Encoding': 'chunked'
  }),
  createRequest('x'.repeat(900_000), keepAlive),
  createRequest('', {
    ...keepAlive,
    Expect: '100-continue',
    'Content-Length': '12'
  }),
  createRequest('{"name":"x"}', keepAlive)
]

const reads = [
  getList,
  getList.repeat(20),
  listRequest({ ...keepAlive, 'Accept-Encoding': 'br' }),
  listRequest(anonymous),
  getRequest(asset),
  getRequest(asset, { 'Accept-Encoding': 'br' }),
  request('HEAD /v1/notes', keepAlive),
  getRequest('/none'),
  request('GET /livez HTTP/1.0', anonymous)
]

/** Requests of every kind that a client can leave. */
const requests = [...brokenRequests, ...creates, ...reads]

const stages = ['half the request', 'the request', 'the response'] as const

const waysToLeave = [
  (socket: Socket) => socket.resetAndDestroy(),
  (socket: Socket) => socket.resume().end(),
  (socket: Socket) => socket.end(() => socket.resetAndDestroy())
]

/** A client that sends a request, and leaves. */
interface Visit {
  bytes: string
  /** After what it leaves. */
  stage: (typeof stages)[number]
  leave: (socket: Socket) => unknown
}

/** Each request, left after each stage in each way. */
const visits: Visit[] = requests.flatMap((bytes) =>
  stages.flatMap((stage) =>
    waysToLeave.map((leave) => ({ bytes, stage, leave }))
  )
)

async function visit(
  t: Test,
  service: Service,
  { bytes, stage, leave }: Visit
) {
  const half = bytes.slice(0, bytes.length / 2)
  const first = stage === 'half the request' ? half : bytes
  const client = openConnection(t, service, first)
  await client.sent

  // An incomplete request gets its response when the time for it ends.
  if (stage === 'the response')
    await Promise.race([client.responded, client.closed])

  leave(client.socket)
  await client.closed
}

/** Starts the service with a list that is streamed. */
async function start(t: Test, config: Partial<Config>) {
  const service = await startNotes(t, {
    config: { METRICS_PORT: 0, ...config }
  })
  await fillNotes(service)

  return service
}

/** Checks that nothing is left of clients that have gone. */
async function recovers(t: Test, service: Service) {
  await disconnected(service)
  await until(async () => (await inFlight()) === 0, 'no request is in flight')
  const response = await service.app.inject({
    url: '/v1/notes',
    headers: service.auth
  })
  t.ok(response.json<unknown[]>().length >= 5000, 'others are served')
}

const openFiles = () => readdirSync('/dev/fd').length

t.test('clients that leave at any stage leave nothing behind', async (t) => {
  const service = await start(t, {
    HEADERS_TIMEOUT_MS: 1000,
    REQUEST_TIMEOUT_MS: 1000
  })

  await Promise.all(visits.map((one) => visit(t, service, one)))
  await recovers(t, service)
})

t.test('pipelined requests of clients that reset are released', async (t) => {
  const service = await start(t, { MAX_RESPONSE_BUFFER_BYTES: 2 ** 25 })
  const before = openFiles()
  const floods = [
    { clients: 50, bytes: getRequest(asset).repeat(20) },
    { clients: 20, bytes: getList.repeat(20) }
  ]

  for (const { clients, bytes } of floods) {
    const paused = Array.from({ length: clients }, async () => {
      const { socket, responded } = openConnection(t, service, bytes)
      await responded
      return socket.pause()
    })
    for (const socket of await Promise.all(paused)) socket.resetAndDestroy()
  }

  await recovers(t, service)
  // The pool may have opened its connections meanwhile.
  await until(() => openFiles() <= before + 10, 'files are closed')
})
