import { once } from 'node:events'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { requestsInFlight } from '../../src/metrics.ts'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { parseRaw, sendRaw, type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('headers that do not arrive in time are a 408', async (t) => {
  const { port } = await startService(t, { config: { HEADERS_TIMEOUT: 200 } })
  const { status, body } = parseRaw(await sendRaw(port, 'GET /v1/categories HTTP/1.1\r\nHost: x\r\n'))
  t.equal(status, 408)
  t.same(JSON.parse(body), {
    code: 'request_timeout',
    message: 'The request did not arrive in time',
    status: 408
  })
})

const post = (key: string) =>
  `POST /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`

t.test('a body that does not arrive in time is a 408', async (t) => {
  const { port, key } = await startService(t, { config: { REQUEST_TIMEOUT: 200 } })
  t.equal(parseRaw(await sendRaw(port, post(key))).status, 408)
})

t.test('a request that is refused before its body came cannot hold its connection', async (t) => {
  const { port } = await startService(t)
  t.equal(parseRaw(await sendRaw(port, post('wrong'))).status, 401)
})

t.test('a header section above the limit is a 431', async (t) => {
  const { port } = await startService(t, { config: { HEADER_LIMIT: 2000 } })
  const request = (size: number) =>
    `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Long: ${'x'.repeat(size)}\r\n\r\n`
  t.equal(parseRaw(await sendRaw(port, request(1000))).status, 302)
  t.equal(parseRaw(await sendRaw(port, request(2000))).status, 431)
})

t.test('a connection beyond the number of them is closed, and one that ends makes room', async (t) => {
  const { port, url } = await startService(t, { config: { MAX_CONNECTIONS: 1 } })
  const first = connect(port, '127.0.0.1')
  await once(first, 'connect')
  t.equal(await sendRaw(port, ''), '')
  first.destroy()
  while (
    !(await fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false
    ))
  );
})

const listRequest = (key: string) =>
  `GET /v1/categories HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`

const fill = ({ databaseUrl }: Service, rows: number) =>
  query(
    databaseUrl,
    "INSERT INTO categories (name, description) SELECT n, repeat('x', 2000) FROM generate_series(1, $1) n",
    [rows]
  )

t.test('a client that reads its list slowly but steadily gets all of it', async (t) => {
  const service = await startService(t, { config: { ANSWER_TIMEOUT: 2000 } })
  await fill(service, 20_000)
  const { body } = await service.app.inject({ url: '/v1/categories', headers: service.auth })
  const socket = connect(service.port, '127.0.0.1')
  socket.write(listRequest(service.key))
  let received = 0
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length
    socket.pause()
    setTimeout(() => socket.resume(), 5)
  })
  const started = performance.now()
  await once(socket, 'close')
  t.ok(received > body.length)
  t.ok(performance.now() - started > 2000, 'it took longer than a client has for a chunk')
})

for (const limit of ['ANSWER_TIMEOUT', 'IDLE_TIMEOUT']) {
  t.test(`a client that stops reading its list is disconnected after ${limit}`, async (t) => {
    const service = await startService(t, { config: { [limit]: 500 } })
    await fill(service, 20_000)
    const socket = connect(service.port, '127.0.0.1').pause()
    t.teardown(() => socket.destroy())
    const { server } = service.app
    socket.write(listRequest(service.key))
    await once(server, 'request')
    await until(async () => (await promisify(server.getConnections.bind(server))()) === 0, 'it is disconnected')
  })
}

t.test('at the end idle and incomplete requests are closed, and what is in progress has its time', async (t) => {
  const service = await startService(t, { config: { SHUTDOWN_TIMEOUT: 1500, METRICS_PORT: 0 } })
  const { app, port, key, url, auth, databaseUrl } = service
  await fill(service, 20_000)
  const open = async (text: string) => {
    const socket = connect(port, '127.0.0.1').pause()
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    await new Promise((resolve) => socket.write(text, resolve))
    return { socket, closed: once(socket, 'close') }
  }
  const docs = 'GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'
  const idle = await Promise.all(['', 'GET /livez HTT', 'GET /livez HTTP/1.1\r\nHos'].map(open))
  const stuck = await Promise.all([post(key), listRequest(key), docs.repeat(100)].map(open))
  await until(() => requestsInFlight.count === stuck.length, 'those with headers are handled')
  const lock = await lockTable(t, databaseUrl, 'messages')
  const message = fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: '{"message":"x"}'
  })
  await lockAwaited(databaseUrl)
  const closing = app.close()
  await Promise.all(idle.map(({ socket, closed }) => (socket.resume(), closed)))
  await lock.release()
  t.equal((await message).status, 202)
  await closing
  await Promise.all(stuck.map(({ socket, closed }) => (socket.resume(), closed)))
})
