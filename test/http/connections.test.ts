import { once } from 'node:events'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { createDatabase, lockAwaited, lockTable, query } from '../support/database.ts'
import { parseRaw, sendRaw, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { bytesOf, create, inFlight, list, request } from './raw.ts'

/** A request whose body does not come. */
const halfSent = (headers?: object) => create('{', { ...headers, 'Content-Length': '100' })

t.test('a request that does not arrive in time gets a 408', async (t) => {
  const { port: headersPort } = await startService(t, { config: { HEADERS_TIMEOUT: 200 } })
  const { port, key } = await startService(t, { config: { REQUEST_TIMEOUT: 200 } })
  const timeout = { code: 'request_timeout', message: 'The request did not arrive in time', status: 408 }
  const responses = await Promise.all([
    sendRaw(headersPort, 'GET /v1/categories HTTP/1.1\r\nHost: x\r\n'),
    sendRaw(port, 'GET / HTTP/1.1\r\n'),
    sendRaw(port, bytesOf(halfSent(), key))
  ])
  for (const { status, body } of responses.map(parseRaw)) {
    t.equal(status, 408)
    t.same(JSON.parse(body), timeout)
  }
  const rejected = parseRaw(await sendRaw(port, halfSent({ Authorization: 'Bearer wrong', Connection: undefined })))
  t.equal(rejected.status, 401, 'a rejected request cannot hold its connection either')
})

t.test('a connection above MAX_CONNECTIONS is closed, until another one ends', async (t) => {
  const { port } = await startService(t, { config: { MAX_CONNECTIONS: 1 } })
  const first = connect(port, '127.0.0.1')
  await once(first, 'connect')
  t.equal(await sendRaw(port, ''), '')
  first.destroy()
  const isServed = () =>
    sendRaw(port, request('GET /livez')).then(
      (text) => text !== '',
      () => false
    )
  await until(isServed, 'there is room for another connection')
})

t.test('clients of a list of 16 MB', async (t) => {
  const databaseUrl = await createDatabase(t)
  await query(
    databaseUrl,
    "INSERT INTO categories (name, description) SELECT n, repeat('x', 2000) FROM generate_series(1, 8000) n"
  )

  t.test('one that reads slowly but steadily gets all of it', async (t) => {
    const { app, auth, port, key } = await startService(t, { databaseUrl, config: { ANSWER_TIMEOUT: 1000 } })
    const { rawPayload } = await app.inject({ url: '/v1/categories', headers: auth })
    const socket = connect(port, '127.0.0.1')
    const closed = once(socket, 'close')
    const started = performance.now()
    socket.write(bytesOf(list(), key))
    let received = 0
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
      socket.pause()
      setTimeout(() => socket.resume(), 10)
    })
    await closed
    t.ok(received > rawPayload.length)
    t.ok(performance.now() - started > 1000, 'it took longer than a client has for a chunk')
  })

  for (const limit of ['ANSWER_TIMEOUT', 'IDLE_TIMEOUT']) {
    t.test(`one that stops reading is disconnected after ${limit}`, async (t) => {
      const { app, port, key } = await startService(t, { databaseUrl, config: { [limit]: 500 } })
      const socket = connect(port, '127.0.0.1').pause()
      t.teardown(() => socket.destroy())
      socket.write(bytesOf(list(), key))
      await once(app.server, 'request')
      const connections = promisify(app.server.getConnections.bind(app.server))
      await until(async () => (await connections()) === 0, 'it is disconnected')
    })
  }

  t.test('one that reads it during the shutdown gets all of it, and its connection closes', async (t) => {
    const day = 86_400_000
    const config = { SHUTDOWN_TIMEOUT: day, KEEP_ALIVE_TIMEOUT: day, IDLE_TIMEOUT: day }
    const { app, auth, port, key } = await startService(t, { databaseUrl, config })
    const { rawPayload } = await app.inject({ url: '/v1/categories', headers: auth })
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write(bytesOf(list({ Connection: undefined }), key))
    await once(socket, 'readable')
    const closing = app.close()
    await until(() => !app.server.listening, 'the shutdown begins')
    let received = 0
    socket.on('data', (chunk: Buffer) => (received += chunk.length))
    socket.resume()
    await until(() => socket.closed, 'its connection closes')
    await closing
    t.ok(received > rawPayload.length)
  })

  t.test('shutdown closes idle and incomplete requests at once, and waits for the others', async (t) => {
    const config = { SHUTDOWN_TIMEOUT: 1500, METRICS_PORT: 0 }
    const { app, port, key, url, auth } = await startService(t, { databaseUrl, config })
    const open = async (text: string) => {
      const socket = connect(port, '127.0.0.1').pause()
      t.teardown(() => socket.destroy())
      socket.on('error', () => {})
      const closed = once(socket, 'close')
      await once(socket, 'connect')
      await new Promise((resolve) => socket.write(bytesOf(text, key), resolve))
      return () => (socket.resume(), closed)
    }
    const assets = request('GET /docs/static/swagger-ui-bundle.js', { Connection: undefined }).repeat(100)
    const idle = await Promise.all(['', 'GET /livez HTT', 'GET /livez HTTP/1.1\r\nHos'].map(open))
    const stuck = await Promise.all([halfSent(), list(), assets].map(open))
    await until(async () => (await inFlight()) === stuck.length, 'those with headers are handled')
    const lock = await lockTable(t, databaseUrl, 'messages')
    const headers = { ...auth, 'content-type': 'application/json' }
    const message = fetch(`${url}/v1/messages`, { method: 'POST', headers, body: '{"message":"x"}' })
    await lockAwaited(databaseUrl)
    app.isDraining = true
    const closing = app.close()
    await Promise.all(idle.map((closed) => closed()))
    await lock.release()
    t.equal((await message).status, 202)
    await closing
    await Promise.all(stuck.map((closed) => closed()))
  })
  t.end()
})
