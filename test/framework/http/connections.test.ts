import { once } from 'node:events'
import t from 'tap'
import type { Config } from '../../../src/framework/config.ts'
import {
  createDatabase,
  lockAwaited,
  lockTable
} from '../../support/database.ts'
import { startNotes, storedNames } from '../../support/notes.ts'
import { parseRaw } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  abortList,
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

const late: [config: Partial<Config>, bytes: string][] = [
  [{ REQUEST_TIMEOUT_MS: 200 }, 'GET /v1/notes HTTP/1.1\r\nHost: x\r\n'],
  [{ REQUEST_TIMEOUT_MS: 200 }, halfSent()]
]

t.test('a request that does not arrive in time gets a 408', async (t) => {
  for (const [config, bytes] of late) {
    const { status, body } = await send(await startNotes(t, { config }), bytes)
    t.equal(status, 408)
    t.same(JSON.parse(body), {
      code: 'request_timeout',
      message: 'The request did not arrive in time',
      status: 408
    })
  }
})

t.test('a rejected request has one response, and closes', async (t) => {
  const service = await startNotes(t, { config: { REQUEST_TIMEOUT_MS: 500 } })
  const long = { 'Content-Length': '99999999' }
  for (const framing of [{}, chunked, long]) {
    const bytes = halfSent({ ...anonymous, ...framing })
    const { closed, ...client } = openConnection(t, service, bytes)
    await closed
    t.same(client.statuses(), [401])
    // What follows is not read.
    const isClosed = /connection: close/.test(client.received())
    t.equal(isClosed, framing === chunked || framing === long)
  }
})

t.test('a body in over 100 parts is rejected', async (t) => {
  const service = await startNotes(t)
  const bodyOf = (count: number) =>
    `d\r\n{"name": "x"}\r\n${'1\r\n \r\n'.repeat(count - 1)}0\r\n\r\n`
  const create = (count: number) =>
    send(service, createRequest(bodyOf(count), chunked))

  t.match(await create(100), { status: 201 })
  t.match(await create(101), {
    status: 400,
    body: /in over 100 parts: send larger ones/
  })
  await disconnected(service)
  t.same(await storedNames(service.databaseUrl), ['x'])
})

t.test('a connection above MAX_CONNECTIONS is closed', async (t) => {
  const service = await startNotes(t, { config: { MAX_CONNECTIONS: 1 } })
  const first = openConnection(t, service)
  await first.sent
  const second = openConnection(t, service)
  await second.closed
  t.equal(second.received(), '')

  first.socket.destroy()
  await disconnected(service)
  t.equal((await send(service, request('GET /livez'))).status, 200)
})

/** A database with a list of 16 MB. */
const databaseUrl = await createDatabase(t)
await fillNotes({ databaseUrl }, 8000)

/** Whether a client received the whole list. */
const isComplete = (received: string) =>
  received.length > 16_000_000 && received.endsWith('}]')

t.test('IDLE_TIMEOUT_MS ends the connection of an idle reader', async (t) => {
  const config = { IDLE_TIMEOUT_MS: 500 }
  const service = await startNotes(t, { databaseUrl, config })
  const arrived = once(service.app.server, 'request')
  const bytes = listRequest(keepAlive)
  const { socket, received } = openConnection(t, service, bytes)
  socket.pause()
  await arrived
  await disconnected(service)
  t.notOk(isComplete(received()))
})

for (const next of ['', getRequest('/livez')]) {
  const what = next === '' ? '' : ', and one more response'
  t.test(`a reader gets its list during a shutdown${what}`, async (t) => {
    const config = { IDLE_TIMEOUT_MS: 86_400_000 }
    const service = await startNotes(t, { databaseUrl, config })
    const bytes = listRequest(keepAlive)
    const { socket, ...client } = openConnection(t, service, bytes)
    await client.responded
    socket.pause()

    service.app.isDraining = true
    const closing = service.app.close()
    await until(() => !service.app.server.listening, 'the shutdown begins')
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
    const service = await startNotes(t, { databaseUrl })
    const idle = ['', 'GET /livez HTTP/1.1\r\nHos'].map((bytes) =>
      openConnection(t, service, bytes)
    )
    const lock = await lockTable(t, databaseUrl, 'idempotency_keys')
    const waiting = send(service, keyed)
    await lockAwaited(databaseUrl)

    service.app.isDraining = true
    const closing = service.app.close()
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
  const service = await startNotes(t)
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

  await lock.release()
  await earlier.responded
  t.match(parseRaw(earlier.received()), {
    status: 201,
    headers: { connection: 'close' }
  })
})

t.test('a client that closes its side gets its response', async (t) => {
  // Otherwise its time would end the connection, too.
  const config = { IDLE_TIMEOUT_MS: 86_400_000 }
  const service = await startNotes(t, { config })
  const create = createRequest('{"name":"x"}', keepAlive)
  const requests: [status: number, bytes: string][] = [
    [201, create],
    [400, create.slice(0, -4)],
    ...errors(keepAlive)
  ]
  for (const [status, bytes] of requests) {
    const { socket, statuses } = openConnection(t, service, bytes)
    socket.end()
    await until(() => socket.closed, `the connection closes after ${status}`)
    t.same(statuses(), [status])
  }
})

t.test('a request counts although its client left; others go on', async (t) => {
  const service = await startNotes(t, { config: { MAX_CONNECTIONS: 1 } })
  const list = () => send(service, listRequest())
  await abortList(t, service, {}, async () => {
    t.match(await list(), {
      status: 503,
      headers: { 'retry-after': '1' },
      body: /"code":"unavailable".*Too many requests are waiting/
    })
    for (const path of ['/readyz', '/v1/notes/1/replies'])
      t.match(await send(service, request(`GET ${path}`)), { status: 200 })
  })
  const isServed = async () => (await list()).status === 200
  await until(isServed, 'it has ended')
})
