import { once } from 'node:events'
import pino from 'pino'
import t from 'tap'
import {
  createDatabase,
  lockAwaited,
  lockTable
} from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import { startNotes } from '../../support/notes.ts'
import { parseRaw } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  anonymous,
  asset,
  chunked,
  createRequest,
  disconnected,
  fillNotes,
  getRequest,
  type Headers,
  keepAlive,
  listRequest,
  openConnection,
  request,
  send
} from './raw-requests.ts'

/** A create whose body does not come. */
const halfSent = (headers: Headers = {}) =>
  createRequest('{', { ...keepAlive, 'Content-Length': '100', ...headers })

let logged = ''
const write = (line: string) => {
  logged += line
}
const service = await startNotes(t, { log: pino({}, { write }) })
const { server } = service.app

/** Lets requests time out after 200 ms, or as without the test. */
function hurry(timeout = 200): void {
  server.headersTimeout = timeout
  server.requestTimeout = timeout
}
t.afterEach(() => hurry(30_000))

/** A database with a list of 16 MB. */
const databaseUrl = await createDatabase(t)
await fillNotes({ databaseUrl }, 8000)

t.test(
  'a request that is not received has one id, and counts once',
  async (t) => {
    hurry()
    const headers = { 'X-Request-Id': 'mine' }
    const faulty = createRequest('zz\r\n', { ...chunked, ...headers })
    for (const [status, code, bytes] of [
      [400, 'invalid_request', faulty],
      [408, 'request_timeout', halfSent(headers)]
    ] as const) {
      const response = await send(service, bytes)
      t.match(response, {
        status,
        headers: { 'x-request-id': 'mine', connection: 'close' }
      })
      await disconnected(service)
      const counted = (operation: string) =>
        sample(
          service.app,
          `http_errors_total{operation="${operation}",code="${code}"}`
        )
      t.equal(await counted('createNote'), 1)
      t.notOk(await counted('none'))
    }
    // The key of the other one was not checked yet.
    t.match(logged, /"reqId":"mine",.*"status":408,"code":"request_timeout"/)
  }
)

t.test('a request that does not arrive in time gets a 408', async (t) => {
  hurry()
  for (const bytes of ['GET /v1/notes HTTP/1.1\r\nHost: x\r\n', halfSent()]) {
    const { status, body } = await send(service, bytes)
    t.equal(status, 408)
    t.same(JSON.parse(body), {
      code: 'request_timeout',
      message: 'The request did not arrive in time',
      status: 408
    })
  }
})

t.test('nothing follows a response, or stands inside one', async (t) => {
  const long = { ...keepAlive, 'Content-Length': '99999999' }
  const requests: [status: number, bytes: string][] = [
    [401, halfSent(anonymous)],
    [401, halfSent({ ...anonymous, ...chunked })],
    [413, halfSent(long)],
    [400, request('DELETE /v1/notes/1', long, '{')],
    [404, request('POST /none', long, '{')],
    [400, request('POST /%zz', long, '{')],
    [200, request(`GET ${asset}`, long, '{')]
  ]
  for (const [status, bytes] of requests) {
    const { closed, socket, ...client } = openConnection(t, service, bytes)
    await client.responded
    // Too late, or not HTTP.
    socket.pause()
    hurry()
    await disconnected(service)
    socket.resume()
    await closed
    t.same(client.statuses(), [status], bytes.slice(0, 50))
    t.notMatch(client.received(), 'request_timeout')
    hurry(30_000)
  }
})

t.test(
  'a faulty body has one response while its key is looked up',
  async (t) => {
    const client = { ...service, key: await service.keys.create('new') }
    const lock = await lockTable(t, service.databaseUrl, 'api_keys')
    const faulty = createRequest('\0\0\0\0', { ...keepAlive, ...chunked })
    const { closed, statuses } = openConnection(t, client, faulty)
    await once(server, 'clientError')
    await lockAwaited(service.databaseUrl)
    await lock.release()
    await closed

    t.same(statuses(), [400])
  }
)

t.test('a body of any length is dropped behind its error', async (t) => {
  const content = 'x'.repeat(1_000_000)
  for (const [status, headers] of [
    [413, keepAlive],
    [401, anonymous]
  ] as const) {
    const client = openConnection(t, service, createRequest(content, headers))
    await client.sent
    client.write(getRequest('/livez'))
    await until(() => client.statuses().length === 2, 'the next is served')
    t.same(client.statuses(), [status, 200])
  }
})

t.test('a connection above the limit is closed', async (t) => {
  const replica = await startNotes(t)
  replica.app.server.maxConnections = 1
  const first = openConnection(t, replica)
  await first.sent
  const second = openConnection(t, replica)
  await second.closed
  t.equal(second.received(), '')

  first.socket.destroy()
  await disconnected(replica)
  t.equal((await send(replica, request('GET /livez'))).status, 200)
})

/** Whether a client received the whole list. */
const isComplete = (received: string) =>
  received.length > 16_000_000 && received.endsWith('}]')

t.test('IDLE_TIMEOUT_MS ends the connection of an idle reader', async (t) => {
  const config = { IDLE_TIMEOUT_MS: 500 }
  const replica = await startNotes(t, { databaseUrl, config })
  const arrived = once(replica.app.server, 'request')
  const bytes = listRequest(keepAlive)
  const { socket, received } = openConnection(t, replica, bytes)
  socket.pause()
  await arrived
  await disconnected(replica)
  t.notOk(isComplete(received()))
})

for (const next of ['', getRequest('/livez')]) {
  const what = next === '' ? '' : ', and one more response'
  t.test(`a reader gets its list during a shutdown${what}`, async (t) => {
    const config = { IDLE_TIMEOUT_MS: 86_400_000 }
    const replica = await startNotes(t, { databaseUrl, config })
    const bytes = listRequest(keepAlive)
    const { socket, ...client } = openConnection(t, replica, bytes)
    await client.responded
    socket.pause()

    replica.app.isDraining = true
    const closing = replica.app.close()
    await until(() => !replica.app.server.listening, 'the shutdown begins')
    socket.resume()
    await until(() => isComplete(client.received()), 'it has the list')
    client.write(next)
    await client.closed
    await closing
    t.same(client.statuses(), next === '' ? [200] : [200, 200])
  })
}

/** A create that waits for its Idempotency-Key. */
const keyed = createRequest('{"name":"x"}', {
  ...keepAlive,
  'Idempotency-Key': 'x'
})

t.test(
  'a shutdown closes idle connections, and waits for requests',
  async (t) => {
    const replica = await startNotes(t, { databaseUrl })
    const idle = ['', 'GET /livez HTTP/1.1\r\nHos'].map((bytes) =>
      openConnection(t, replica, bytes)
    )
    const lock = await lockTable(t, databaseUrl, 'idempotency_keys')
    const waiting = send(replica, keyed)
    await lockAwaited(databaseUrl)

    replica.app.isDraining = true
    const closing = replica.app.close()
    await Promise.all(idle.map(({ closed }) => closed))
    await lock.release()
    t.match(await waiting, { status: 201, headers: { connection: 'close' } })
    await closing
  }
)

/** Errors before and after the service has waited for the whole request. */
const errors = (headers: Headers): [status: number, bytes: string][] => [
  [401, getRequest('/v1/notes/999999', headers)],
  [404, request('GET /v1/notes/999999', headers)],
  [400, createRequest('{', headers)]
]

t.test('every response says that its connection closes', async (t) => {
  const lock = await lockTable(t, service.databaseUrl, 'idempotency_keys')
  const earlier = openConnection(t, service, keyed)
  await lockAwaited(service.databaseUrl)

  for (const isDraining of [false, true]) {
    service.app.isDraining = isDraining
    const headers = isDraining ? keepAlive : { Connection: 'close' }
    for (const [status, bytes] of errors(headers)) {
      const response = await send(service, bytes)
      t.match(response, { status, headers: { connection: 'close' } })
    }
  }

  t.equal((await service.app.inject('/readyz')).statusCode, 503)

  await lock.release()
  await earlier.responded
  t.match(parseRaw(earlier.received()), {
    status: 201,
    headers: { connection: 'close' }
  })
})
