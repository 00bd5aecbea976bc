import { once } from 'node:events'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/framework/config.ts'
import { Connections } from '../../../src/framework/http/connections.ts'
import {
  createDatabase,
  lockAwaited,
  lockTable,
  silent
} from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { noFile, parseRaw, sendRaw } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  createRequest,
  disconnected,
  fillNotes,
  getRequest,
  inFlight,
  keepAlive,
  listRequest,
  openConnection,
  request,
  send
} from './raw-requests.ts'

/** A request whose body does not come. */
const halfSent = (headers?: object) =>
  createRequest('{', { ...headers, 'Content-Length': '100' })

t.test('a request that does not arrive in time gets a 408', async (t) => {
  const impatient = await startNotes(t, {
    config: { HEADERS_TIMEOUT_MS: 200 }
  })
  const service = await startNotes(t, { config: { REQUEST_TIMEOUT_MS: 200 } })
  const responses = await Promise.all([
    send(impatient, 'GET /v1/notes HTTP/1.1\r\nHost: x\r\n'),
    send(service, 'GET / HTTP/1.1\r\n'),
    send(service, halfSent())
  ])

  for (const { status, body } of responses) {
    t.equal(status, 408)
    t.same(JSON.parse(body), {
      code: 'request_timeout',
      message: 'The request did not arrive in time',
      status: 408
    })
  }
})

t.test('a rejected request cannot hold its connection', async (t) => {
  const service = await startNotes(t, { config: { REQUEST_TIMEOUT_MS: 200 } })
  const rejected = halfSent({ ...keepAlive, Authorization: 'Bearer wrong' })
  t.equal((await send(service, rejected)).status, 401)
})

t.test('a connection above MAX_CONNECTIONS is closed', async (t) => {
  const service = await startNotes(t, { config: { MAX_CONNECTIONS: 1 } })
  const first = openConnection(t, service)
  await first.sent
  const second = openConnection(t, service)
  await second.closed
  t.equal(second.received(), '')

  first.socket.destroy()
  const isServed = async () => {
    const next = openConnection(t, service, request('GET /livez'))
    await next.closed
    return next.received() !== ''
  }
  await until(isServed, 'there is room for another connection')
})

/** A database with a list of 16 MB. */
const databaseUrl = await createDatabase(t)
await fillNotes({ databaseUrl }, 8000)

/** Whether a client received the whole list. */
const isComplete = (received: string) =>
  received.length > 16_000_000 && received.endsWith('}]')

t.test('a slow but steady reader gets the whole list', async (t) => {
  const limit = 2000
  const service = await startNotes(t, {
    databaseUrl,
    config: { IDLE_TIMEOUT_MS: limit }
  })
  const startedAt = performance.now()
  const { socket, closed, received } = openConnection(t, service, listRequest())
  // Of 64 KiB at most: 0.5 s for 2 MiB.
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 15)
  })

  await closed

  t.ok(isComplete(received()))
  const elapsed = performance.now() - startedAt
  t.ok(elapsed > limit, 'it took longer than a client may be idle')
})

t.test('IDLE_TIMEOUT_MS ends the connection of an idle reader', async (t) => {
  const service = await startNotes(t, {
    databaseUrl,
    config: { IDLE_TIMEOUT_MS: 500 }
  })
  const arrived = once(service.app.server, 'request')
  const { socket, received } = openConnection(t, service, listRequest())
  socket.pause()
  await arrived
  await disconnected(service)
  t.notOk(isComplete(received()))
})

t.test('a reader gets the whole list during a shutdown', async (t) => {
  const day = 86_400_000
  const config = {
    SHUTDOWN_TIMEOUT_MS: day,
    KEEP_ALIVE_TIMEOUT_MS: day,
    IDLE_TIMEOUT_MS: day
  }
  const service = await startNotes(t, { databaseUrl, config })
  const bytes = listRequest(keepAlive)
  const { socket, responded, received } = openConnection(t, service, bytes)
  await responded
  socket.pause()

  const closing = service.app.close()
  await until(() => !service.app.server.listening, 'the shutdown begins')
  socket.resume()
  await until(() => socket.closed, 'its connection closes')
  await closing
  t.ok(isComplete(received()))
})

t.test(
  'a shutdown closes idle connections, and waits for requests',
  async (t) => {
    const service = await startNotes(t, {
      databaseUrl,
      config: { SHUTDOWN_TIMEOUT_MS: 3000, METRICS_PORT: 0 }
    })
    const idle = [
      openConnection(t, service, ''),
      openConnection(t, service, 'GET /livez HTT'),
      openConnection(t, service, 'GET /livez HTTP/1.1\r\nHos')
    ]

    const stuck = [
      openConnection(t, service, halfSent()),
      openConnection(t, service, listRequest()),
      openConnection(t, service, listRequest(keepAlive).repeat(20))
    ]

    for (const { socket } of stuck) socket.pause()
    const areHandled = async () => (await inFlight()) === stuck.length
    await until(areHandled, 'those with headers are handled')

    const lock = await lockTable(t, databaseUrl, 'idempotency_keys')
    const keyed = createRequest('{"name":"x"}', { 'Idempotency-Key': 'x' })
    const waiting = send(service, keyed)
    await lockAwaited(databaseUrl)

    const closing = service.app.close()
    await Promise.all(idle.map(({ closed }) => closed))
    await lock.release()
    t.equal((await waiting).status, 201)
    await closing
  }
)

t.test(
  'a response closes its connection, even if the request came before the shutdown',
  async (t) => {
    const service = await startNotes(t, { databaseUrl })
    const lock = await lockTable(t, databaseUrl, 'idempotency_keys')
    const { responded, received } = openConnection(
      t,
      service,
      createRequest('{"name":"x"}', { ...keepAlive, 'Idempotency-Key': 'y' })
    )
    await lockAwaited(databaseUrl)

    service.app.isDraining = true
    await lock.release()
    await responded
    t.equal(parseRaw(received()).headers['connection'], 'close')
  }
)

t.test('a body that stays away gets no second response', async (t) => {
  const { port } = await startNotes(t, {
    config: { HEADERS_TIMEOUT_MS: 500, REQUEST_TIMEOUT_MS: 500 }
  })
  const withoutKey = [
    'POST /v1/notes HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Content-Length: 100',
    '',
    '{'
  ]
  const received = await sendRaw(port, withoutKey.join('\r\n'))

  t.match(received, /^HTTP\/1\.1 401 /)
  t.equal(received.split('HTTP/1.1 ').length, 2)
})

/** Serves a response that no socket buffers, without waiting for a body. */
async function startLarge(t: Test) {
  const config = { ...loadConfig({}, noFile), REQUEST_TIMEOUT_MS: 500 }
  const connections = new Connections(config, silent)
  const app = Fastify({
    serverFactory: connections.createServer,
    clientErrorHandler: connections.onClientError
  })
  t.teardown(() => app.close())
  app.addHook('preClose', connections.limitShutdown)
  app.get('/large', () => 'x'.repeat(20_000_000))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })

  return { app, port: Number(new URL(url).port), key: '' }
}

t.test('a response that has begun is complete without the body', async (t) => {
  const service = await startLarge(t)
  const withoutBody = request('GET /large', {
    ...keepAlive,
    'Content-Length': '10'
  })

  const timeout = once(service.app.server, 'clientError')
  const { socket, responded, received } = openConnection(
    t,
    service,
    withoutBody
  )
  await responded
  socket.pause()
  await timeout
  socket.resume()
  await once(socket, 'close')

  const { status, headers, body } = parseRaw(received())
  t.equal(status, 200)
  t.equal(body.length, Number(headers['content-length']))
})

t.test('a shutdown does not cut off a response that is sent', async (t) => {
  const service = await startLarge(t)
  const { socket, responded, received } = openConnection(
    t,
    service,
    request('GET /large', keepAlive)
  )
  await responded
  socket.pause()

  const closing = service.app.close()
  await until(() => !service.app.server.listening, 'the shutdown begins')
  socket.resume()
  await once(socket, 'close')
  await closing

  const { headers, body } = parseRaw(received())
  t.equal(body.length, Number(headers['content-length']))
})

/** Errors before and after the service has waited for the whole request. */
const errors = (headers: { Connection: string | undefined }) => [
  { status: 401, bytes: getRequest('/v1/notes/999999', headers) },
  { status: 404, bytes: request('GET /v1/notes/999999', headers) },
  { status: 400, bytes: createRequest('{', headers) }
]

t.test('an error announces that its connection closes', async (t) => {
  const service = await startNotes(t)
  const expectClose = async (
    headers: Parameters<typeof errors>[0],
    why: string
  ) => {
    for (const { status, bytes } of errors(headers)) {
      const response = await send(service, bytes)
      t.equal(response.status, status, why)
      t.equal(response.headers['connection'], 'close', `${status}, ${why}`)
    }
  }

  await expectClose({ Connection: 'close' }, 'as the client asked')
  service.app.isDraining = true
  await expectClose(keepAlive, 'while draining')
})

t.test('a half-closed connection closes after an error', async (t) => {
  // Otherwise its time would end it, too.
  const config = { KEEP_ALIVE_TIMEOUT_MS: 86_400_000 }
  const service = await startNotes(t, { config })
  for (const { status, bytes } of errors(keepAlive)) {
    const { socket, statuses } = openConnection(t, service, bytes)
    socket.end()
    await until(() => socket.closed, `the connection closes after ${status}`)
    t.same(statuses(), [status])
  }
})
