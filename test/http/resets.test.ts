import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/config.ts'
import { metricsServer } from '../../src/http/metrics-endpoint.ts'
import { requestsInFlight } from '../../src/metrics.ts'
import { lockAwaited, lockTable, query, silent } from '../support/database.ts'
import { noFile, sendRaw, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const asset = '/docs/static/swagger-ui-bundle.js'
const crlf = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
const get = (path: string, ...headers: string[]) => crlf(`GET ${path} HTTP/1.1`, 'Host: x', ...headers)

const create = (key: string, body: string) =>
  `${crlf(
    'POST /v1/categories HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`
  )}${body}`
const trace = crlf('TRACE / HTTP/1.1', 'Host: x')

/** Requests of every kind that a client can leave. `$KEY` stands for a valid key. */
const requests: Record<string, string | Buffer> = {
  CONNECT: crlf('CONNECT a:1 HTTP/1.1', 'Host: a'),
  'CONNECT with a body': `${crlf('CONNECT a:1 HTTP/1.1', 'Host: a', 'Content-Length: 4')}body`,
  'CONNECT behind a request': get('/livez') + crlf('CONNECT a:1 HTTP/1.1', 'Host: a'),
  'Upgrade to WebSocket': get('/', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x'),
  h2c: get('/', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'),
  'HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'TLS bytes': Buffer.from('16030100a5010000a10303', 'hex'),
  'no byte': '',
  'half a request line': 'GET /liv',
  'half the headers': 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Y',
  'half a body': `${crlf('POST /v1/categories HTTP/1.1', 'Host: x', 'Authorization: Bearer $KEY', 'Content-Type: application/json', 'Content-Length: 100')}{"na`,
  'half a body without a key': `${crlf('POST /v1/categories HTTP/1.1', 'Host: x', 'Content-Length: 100')}{"na`,
  'a chunked body that does not end': `${crlf('POST /v1/categories HTTP/1.1', 'Host: x', 'Authorization: Bearer $KEY', 'Content-Type: application/json', 'Transfer-Encoding: chunked')}5\r\n{"nam\r\n`,
  'a bad chunk': `${crlf('POST /v1/categories HTTP/1.1', 'Host: x', 'Authorization: Bearer $KEY', 'Content-Type: application/json', 'Transfer-Encoding: chunked')}zz\r\n`,
  'a body that is too large': `${crlf('POST /v1/categories HTTP/1.1', 'Host: x', 'Authorization: Bearer $KEY', 'Content-Type: application/json', 'Content-Length: 900000')}${'x'.repeat(900_000)}`,
  'headers that are too large': get('/livez', `X-Y: ${'x'.repeat(40_000)}`),
  'Expect: 100-continue': crlf(
    'POST /v1/categories HTTP/1.1',
    'Host: x',
    'Authorization: Bearer $KEY',
    'Content-Type: application/json',
    'Expect: 100-continue',
    'Content-Length: 12'
  ),
  'another expectation': get('/livez', 'Expect: 200-ok'),
  'a create': create('$KEY', '{"name":"x"}'),
  'pipelined lists': get('/v1/categories', 'Authorization: Bearer $KEY').repeat(20),
  'pipelined assets': get(asset).repeat(100),
  'pipelined garbage': `${get('/livez')}\0\0\0\0`,
  'a streamed list': get('/v1/categories', 'Authorization: Bearer $KEY'),
  'a compressed list': get('/v1/categories', 'Authorization: Bearer $KEY', 'Accept-Encoding: br'),
  'a list without a key': get('/v1/categories'),
  'a file of the docs': get(asset),
  'a range of a file': get(asset, 'Range: bytes=0-99999'),
  'the OpenAPI document': get('/openapi.yaml'),
  '/metrics': get('/metrics'),
  '/readyz': get('/readyz'),
  HEAD: crlf('HEAD /v1/categories HTTP/1.1', 'Host: x', 'Authorization: Bearer $KEY'),
  OPTIONS: crlf('OPTIONS * HTTP/1.1', 'Host: x'),
  TRACE: trace,
  'an unknown path': get('/none'),
  'an invalid path': get('/%zz'),
  'HTTP/1.0': crlf('GET /livez HTTP/1.0')
}

/** The ways in which a client leaves. */
const leave: Record<string, (socket: Socket) => unknown> = {
  'a reset': (socket) => socket.resetAndDestroy(),
  'an end': (socket) => socket.resume().end(),
  'an end, then a reset': (socket) => socket.end(() => socket.resetAndDestroy())
}

/** When it leaves: after half of the request, after all of it, or after the first bytes of the response. */
const stages = ['half', 'all', 'response'] as const

async function leaveAt(port: number, bytes: Buffer, stage: (typeof stages)[number], how: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  const sent = stage === 'half' ? bytes.subarray(0, bytes.length >> 1) : bytes
  await new Promise((resolve) => socket.write(sent, resolve))
  // A request that is not complete has its response when the time for it ends.
  if (stage === 'response') await Promise.race([once(socket, 'data'), closed])
  leave[how]?.(socket)
  await closed
}

const big = (databaseUrl: string) =>
  query(
    databaseUrl,
    "INSERT INTO categories (name, description) SELECT n, repeat('x', 2000) FROM generate_series(1, 5000) n"
  )

const connectionsOf = (server: { getConnections: (done: (error: Error | null, count: number) => void) => void }) =>
  promisify(server.getConnections.bind(server))()

t.test('clients that reset, close or half-close at any stage of any request leave nothing behind', async (t) => {
  const times = { HEADERS_TIMEOUT: 1000, REQUEST_TIMEOUT: 1000 }
  const { app, key, port, databaseUrl, auth } = await startService(t, {
    config: { ...times, METRICS_PORT: 0, RATE_LIMIT_MAX: 0, AUTH_FAILURES_MAX: 0 }
  })
  await big(databaseUrl)
  const metrics = metricsServer({ ...loadConfig({}, noFile), ...times }, silent)
  t.teardown(() => metrics.close())
  await metrics.listen({ port: 0, host: '127.0.0.1' })
  const metricsPort = (metrics.server.address() as AddressInfo).port

  for (const [name, request] of Object.entries(requests)) {
    const bytes = typeof request === 'string' ? Buffer.from(request.replaceAll('$KEY', key)) : request
    await Promise.all(
      [port, metricsPort].flatMap((port) =>
        stages.flatMap((stage) => Object.keys(leave).map((how) => leaveAt(port, bytes, stage, how)))
      )
    )
    t.equal((await app.inject('/livez')).statusCode, 200, name)
  }
  for (const { server } of [app, metrics]) {
    await until(async () => (await connectionsOf(server)) === 0, 'every connection closes')
  }
  await until(() => requestsInFlight.count === 0, 'no request is in flight')
  t.equal((await app.inject({ url: '/v1/categories', headers: auth })).statusCode, 200)
})

/** Sends the request so many times on each of so many connections, and resets them. */
async function pipelineAndReset(t: Test, port: number, request: string, connections: number): Promise<void> {
  const sockets = Array.from({ length: connections }, () => connect(port, '127.0.0.1').pause())
  for (const socket of sockets) {
    t.teardown(() => socket.destroy())
    socket.write(request.repeat(100))
  }
  await Promise.all(sockets.map((socket) => once(socket, 'readable')))
  for (const socket of sockets) socket.resetAndDestroy()
}

t.test('pipelined requests of clients that reset release their files and their memory', async (t) => {
  const { app, port, key, databaseUrl, auth } = await startService(t, {
    config: { METRICS_PORT: 0, RATE_LIMIT_MAX: 0, RESPONSE_MEMORY: 2 ** 23 }
  })
  await big(databaseUrl)
  const openFiles = () => readdirSync('/dev/fd').length
  const before = openFiles()
  await pipelineAndReset(t, port, get(asset), 50)
  await pipelineAndReset(t, port, get('/v1/categories', `Authorization: Bearer ${key}`), 20)
  await until(async () => (await connectionsOf(app.server)) === 0, 'every connection closes')
  await until(() => requestsInFlight.count === 0, 'no request is in flight')
  // The pool may have opened its connections meanwhile.
  await until(() => openFiles() <= before + 10, 'files are closed')
  const list = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(list.statusCode, 200)
  t.equal(list.json<unknown[]>().length, 5000)
})

t.test('pipelined requests have their responses in order, whatever their size and number', async (t) => {
  const { port, key } = await startService(t, { config: { RATE_LIMIT_MAX: 0 } })
  const body = `{"name":"x"${' '.repeat(2000)}}`
  const kinds = [get('/livez'), get('/none'), create(key, body), get(asset, 'Range: bytes=0-99999'), trace]
  const expected = Array.from({ length: 100 }, () => ['200', '404', '201', '206', '405']).flat()
  const end = get('/livez', 'Connection: close')
  const text = await sendRaw(port, kinds.join('').repeat(100), end, 'what follows the end is discarded')
  t.same(
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    [...expected, '200']
  )
})

t.test('thousands of requests in one packet are not parsed before their turn', async (t) => {
  const { app, port, databaseUrl, key } = await startService(t)
  const lock = await lockTable(t, databaseUrl, 'categories')
  let parsed = 0
  app.server.on('request', () => parsed++)
  const socket = connect(port, '127.0.0.1').resume()
  t.teardown(() => socket.destroy())
  socket.write(get('/v1/categories', `Authorization: Bearer ${key}`) + 'GET / HTTP/1.1\r\n\r\n'.repeat(3000))
  await lockAwaited(databaseUrl)
  t.ok(parsed < 100, `${parsed} are parsed while the first one waits`)
  await lock.release()
  await until(() => parsed === 3001, 'all are parsed')
})

t.test('a request to upgrade is the last one of its connection', async (t) => {
  const { app, port, key, databaseUrl } = await startService(t)
  const hidden = create(key, '{"name":"x"}')
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString()
    socket.write(hidden)
  })
  socket.on('error', () => {})
  const upgrade = get('/livez', 'Connection: Upgrade', 'Upgrade: h2c')
  socket.write(upgrade + crlf('POST /none HTTP/1.1', 'Host: x', `Content-Length: ${hidden.length}`))
  await once(socket, 'close')
  t.same(received.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200'])
  t.match(received, /connection: close/i)

  const lock = await lockTable(t, databaseUrl, 'categories')
  const list = get('/v1/categories', `Authorization: Bearer ${key}`, 'Connection: Upgrade', 'Upgrade: h2c')
  const slow = connect(port, '127.0.0.1').resume()
  const closed = once(slow, 'close')
  slow.write(list)
  await lockAwaited(databaseUrl)
  const parsed = once(app.server, 'request')
  slow.write(hidden)
  await parsed
  await lock.release()
  await closed
  t.same(await query(databaseUrl, 'SELECT FROM categories'), [], 'the body of a request is not taken for a request')
})

t.test(
  'garbage, or a CONNECT, behind a pending create does not get a response that could be the create’s',
  async (t) => {
    const { port, key, databaseUrl } = await startService(t)
    const request = create(key, '{"name":"x"}')
    for (const garbage of ['\0\0\0\0', crlf('CONNECT a:1 HTTP/1.1', 'Host: a')]) {
      const lock = await lockTable(t, databaseUrl, 'categories')
      const socket = connect(port, '127.0.0.1')
      let received = ''
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
      socket.on('error', () => {})
      socket.write(request)
      await lockAwaited(databaseUrl)
      socket.write(garbage)
      await once(socket, 'close')
      t.equal(received, '')
      await lock.release()
    }
    await until(
      async () => (await query(databaseUrl, 'SELECT FROM categories')).length === 2,
      'both creates are stored: a 400 would have been wrong'
    )
  }
)

t.test('what follows a response to half a request gets no second response', async (t) => {
  const { port } = await startService(t)
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
  socket.on('error', () => {})
  socket.write(crlf('POST /v1/categories HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked'))
  await once(socket, 'data')
  socket.write('zz\r\n')
  await once(socket, 'close')
  t.same(received.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 401'])
})
