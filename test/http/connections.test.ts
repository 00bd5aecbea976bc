import { once } from 'node:events'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { query } from '../support/database.ts'
import { parseRaw, sendRaw, startService } from '../support/service.ts'

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

t.test('a client that does not read its answer is left, and what it held is free', async (t) => {
  const { app, port, key, databaseUrl } = await startService(t, { config: { IDLE_TIMEOUT: 500 } })
  await query(
    databaseUrl,
    "INSERT INTO categories (name, description) SELECT n, repeat('x', 2000) FROM generate_series(1, 20000) n"
  )
  const socket = connect(port, '127.0.0.1').pause()
  socket.write(`GET /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  t.teardown(() => socket.destroy())
  await once(app.server, 'request')
  const connections = promisify(app.server.getConnections.bind(app.server))
  while ((await connections()) > 0) await new Promise((resolve) => setTimeout(resolve, 50))
  t.pass('closed')
})

t.test('a client that takes too long to read its list is left', async (t) => {
  const { app, port, key, databaseUrl } = await startService(t, { config: { ANSWER_TIMEOUT: 200 } })
  await query(
    databaseUrl,
    "INSERT INTO categories (name, description) SELECT n, repeat('x', 2000) FROM generate_series(1, 20000) n"
  )
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  t.teardown(() => socket.destroy())
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 50)
  })
  await once(socket, 'close')
  t.equal((await app.inject('/livez')).statusCode, 200)
})
