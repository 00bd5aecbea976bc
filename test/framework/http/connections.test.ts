import { once } from 'node:events'
import t from 'tap'
import {
  createDatabase,
  lockAwaited,
  lockTable
} from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import { startNotes } from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'
import { until } from '../../support/until.ts'
import {
  anonymous,
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

const { lines, log } = recorder()
const service = await startNotes(t, { log })
const { server } = service.app

/** Lets requests time out after 200 ms, or as without the test. */
function hurry(timeout = 200): void {
  server.headersTimeout = timeout
  server.requestTimeout = timeout
}
t.afterEach(() => hurry(30_000))

/** A database with a list of 16 MB. */
const databaseUrl = await createDatabase(t)
await fillNotes(databaseUrl)

t.test('a request that is not received has its error, once', async (t) => {
  hurry()
  const headers = { 'X-Request-Id': 'mine' }
  const faulty = createRequest('zz\r\n', { ...chunked, ...headers })
  const counted = (operation: string, code: string) =>
    sample(
      service.app,
      `http_errors_total{operation="${operation}",code="${code}"}`
    )
  for (const [status, code, bytes] of [
    [400, 'invalid_request', faulty],
    [408, 'request_timeout', halfSent(headers)]
  ] as const) {
    const response = await send(service, bytes)
    t.match(response.headers, { 'x-request-id': 'mine', connection: 'close' })
    t.match(JSON.parse(response.body), { code, status })
    await disconnected(service)
    t.equal(await counted('createNote', code), 1)
    t.notOk(await counted('none', code))
  }
  // The key of the other one was not checked yet.
  const requests = lines.filter(({ msg }) => msg === 'request')
  t.match(requests, [{ reqId: 'mine', status: 408, code: 'request_timeout' }])

  const { body } = await send(service, 'GET /v1/notes HTTP/1.1\r\nHost: x\r\n')
  t.match(JSON.parse(body), { code: 'request_timeout', status: 408 })
  t.equal(await counted('none', 'request_timeout'), 1)
})

t.test('nothing follows a response, or stands inside one', async (t) => {
  const long = { ...keepAlive, 'Content-Length': '99999999' }
  for (const [status, bytes] of [
    [401, halfSent(anonymous)],
    [413, halfSent(long)],
    [400, request('POST /%zz', long, '{')],
    [200, request('GET /docs/static/swagger-ui-bundle.js', long, '{')]
  ] as const) {
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

t.test('connections are limited, above those of the proxy', (t) => {
  t.equal(server.maxConnections, 2048)
  t.end()
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

t.test(
  'during a shutdown, readers get their lists, and one more response',
  async (t) => {
    const config = { IDLE_TIMEOUT_MS: 86_400_000 }
    const replica = await startNotes(t, { databaseUrl, config })
    const open = async () => {
      const client = openConnection(t, replica, listRequest(keepAlive))
      await client.responded
      client.socket.pause()
      return client
    }
    const silent = await open()
    const busy = await open()

    replica.app.isDraining = true
    const closing = replica.app.close()
    await until(() => !replica.app.server.listening, 'the shutdown begins')
    for (const { socket, received } of [silent, busy]) {
      socket.resume()
      await until(() => isComplete(received()), 'it has the list')
    }
    busy.write(getRequest('/livez'))
    await Promise.all([closing, busy.closed, silent.closed])
    t.same(busy.statuses(), [200, 200])
  }
)

t.test(
  'a shutdown closes idle connections, waits for requests, and says so',
  async (t) => {
    const replica = await startNotes(t, { databaseUrl })
    const idle = ['', 'GET /livez HTTP/1.1\r\nHos'].map((bytes) =>
      openConnection(t, replica, bytes)
    )
    const lock = await lockTable(t, databaseUrl, 'idempotency_keys')
    const keyed = { ...keepAlive, 'Idempotency-Key': 'x' }
    const waiting = send(replica, createRequest('{"name":"x"}', keyed))
    await lockAwaited(databaseUrl)

    replica.app.isDraining = true
    const headers = { connection: 'close' }
    // Errors before and after the service has waited for the whole request.
    for (const [status, bytes] of [
      [401, getRequest('/v1/notes/999999')],
      [404, request('GET /v1/notes/999999', keepAlive)],
      [400, createRequest('{', keepAlive)],
      [503, getRequest('/readyz')]
    ] as const)
      t.match(await send(replica, bytes), { status, headers })

    const closing = replica.app.close()
    await Promise.all(idle.map(({ closed }) => closed))
    await lock.release()
    t.match(await waiting, { status: 201, headers })
    await closing
  }
)
