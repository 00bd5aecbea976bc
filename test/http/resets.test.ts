import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { Config } from '../../src/config.ts'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { bytesOf, create, inFlight, list, request } from './raw.ts'

const keepAlive = { Connection: undefined }
const anonymous = { ...keepAlive, Authorization: undefined }
const get = (path: string, headers = {}) => request(`GET ${path}`, { ...anonymous, ...headers })
const getList = list(keepAlive)
const createOne = create('{"name":"x"}', keepAlive)
const asset = '/docs/static/swagger-ui-bundle.js'
const connectTo = request('CONNECT a:1', anonymous)

/** Requests of every kind that a client can leave. */
const requests = [
  connectTo,
  get('/', { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' }),
  // The beginning of TLS.
  '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
  '',
  'GET /liv',
  'GET /livez HTTP/1.1\r\nHost: x\r\nX-Y',
  create('{"na', { ...keepAlive, 'Content-Length': '100' }),
  create('{"na', { ...anonymous, 'Content-Length': '100' }),
  create('5\r\n{"nam\r\n', { ...keepAlive, 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }),
  create('x'.repeat(900_000), keepAlive),
  get('/livez', { 'X-Y': 'x'.repeat(40_000) }),
  create('', { ...keepAlive, Expect: '100-continue', 'Content-Length': '12' }),
  createOne,
  getList.repeat(20),
  getList,
  list({ ...keepAlive, 'Accept-Encoding': 'br' }),
  list(anonymous),
  get(asset),
  get(asset, { Range: 'bytes=0-99999' }),
  request('HEAD /v1/categories', keepAlive),
  get('/none'),
  request('GET /livez HTTP/1.0', anonymous)
]

const ways: ((socket: Socket) => unknown)[] = [
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.resume().end(),
  (socket) => socket.end(() => socket.resetAndDestroy())
]

/** When clients leave. */
const stages = ['after half of the request', 'after all of it', 'at the response'] as const

/** A connection that collects what it receives. */
function open(t: Test, port: number) {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  const client = { socket, closed: once(socket, 'close'), statuses: () => received.match(/(?<=HTTP\/1\.1 )\d+/g) }
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
  return client
}

async function leave(t: Test, port: number, bytes: Buffer, stage: (typeof stages)[number], way: (typeof ways)[number]) {
  const { socket, closed } = open(t, port)
  await once(socket, 'connect')
  const sent = stage === 'after half of the request' ? bytes.subarray(0, bytes.length >> 1) : bytes
  await new Promise((resolve) => socket.write(sent, resolve))
  // An incomplete request gets its response when the time for it ends.
  if (stage === 'at the response') await Promise.race([once(socket, 'data'), closed])
  way(socket)
  await closed
}

/** Starts the service with a list that is streamed. */
async function start(t: Test, config: Partial<Config>) {
  const service = await startService(t, {
    config: { METRICS_PORT: 0, RATE_LIMIT_MAX: 0, AUTH_FAILURES_MAX: 0, ...config }
  })
  const rows = "SELECT n, repeat('x', 2000) FROM generate_series(1, 5000) n"
  await query(service.databaseUrl, `INSERT INTO categories (name, description) ${rows}`)
  return service
}

/** Resolves when the server has no connection and no request. */
async function idle({ server }: FastifyInstance): Promise<void> {
  const connections = promisify(server.getConnections.bind(server))
  await until(async () => (await connections()) === 0, 'every connection closes')
  await until(async () => (await inFlight()) === 0, 'no request is in flight')
}

t.test('clients that reset, close or half-close at any stage of any request leave nothing behind', async (t) => {
  const { app, key, port, auth } = await start(t, { HEADERS_TIMEOUT: 1000, REQUEST_TIMEOUT: 1000 })
  const clients = requests.flatMap((request) =>
    stages.flatMap((stage) => ways.map((way) => leave(t, port, bytesOf(request, key), stage, way)))
  )
  await Promise.all(clients)
  await idle(app)
  t.equal((await app.inject({ url: '/v1/categories', headers: auth })).statusCode, 200)
})

t.test('pipelined requests of clients that reset release their files and their memory', async (t) => {
  const { app, port, key, auth } = await start(t, { RESPONSE_MEMORY: 2 ** 23 })
  const openFiles = () => readdirSync('/dev/fd').length
  const before = openFiles()
  const reset = async (request: string) => {
    const socket = connect(port, '127.0.0.1').pause()
    socket.write(bytesOf(request.repeat(100), key))
    await once(socket, 'readable')
    return () => socket.resetAndDestroy()
  }
  for (const kind of [Array(50).fill(get(asset)), Array(20).fill(getList)] as string[][]) {
    for (const leave of await Promise.all(kind.map(reset))) leave()
  }
  await idle(app)
  // The pool may have opened its connections meanwhile.
  await until(() => openFiles() <= before + 10, 'files are closed')
  const response = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(response.statusCode, 200)
  t.equal(response.json<unknown[]>().length, 5000)
})

t.test('pipelined requests have their responses in order, whatever their size and number', async (t) => {
  const { port, key } = await startService(t)
  const large = create(`{"name":"x"${' '.repeat(2000)}}`, keepAlive)
  const kinds = [
    get('/livez'),
    get('/none'),
    large,
    get(asset, { Range: 'bytes=0-99999' }),
    request('TRACE /', keepAlive)
  ]
  const { socket, closed, statuses } = open(t, port)
  socket.write(bytesOf(kinds.join('').repeat(100) + get('/livez', { Connection: 'close' }), key))
  socket.write('what follows the end is discarded')
  await closed
  const expected = Array.from({ length: 100 }, () => ['200', '404', '201', '206', '405']).flat()
  t.same(statuses(), [...expected, '200'])
})

t.test('thousands of requests in one packet are not parsed before their turn', async (t) => {
  const { app, port, databaseUrl, key } = await startService(t)
  const lock = await lockTable(t, databaseUrl, 'categories')
  let parsed = 0
  app.server.on('request', () => parsed++)
  open(t, port).socket.write(bytesOf(getList + 'GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(3000), key))
  await lockAwaited(databaseUrl)
  t.ok(parsed < 100, `${parsed} are parsed while the first one waits`)
  await lock.release()
  await until(() => parsed === 3001, 'all are parsed')
})

t.test('a request to upgrade is the last one of its connection', async (t) => {
  const { app, port, key, databaseUrl } = await startService(t)
  const upgrade = { Connection: 'Upgrade', Upgrade: 'h2c' }
  const hidden = bytesOf(createOne, key)
  const { socket, closed, statuses } = open(t, port)
  socket.on('data', () => socket.write(hidden))
  socket.write(
    get('/livez', upgrade) + request('POST /none', { ...anonymous, 'Content-Length': String(hidden.length) })
  )
  await closed
  t.same(statuses(), ['200'])

  const lock = await lockTable(t, databaseUrl, 'categories')
  const slow = open(t, port)
  slow.socket.write(bytesOf(list(upgrade), key))
  await lockAwaited(databaseUrl)
  const parsed = once(app.server, 'request')
  slow.socket.write(hidden)
  await parsed
  await lock.release()
  await slow.closed
  t.same(slow.statuses(), ['200'])
  t.same(await query(databaseUrl, 'SELECT FROM categories'), [], 'the body of a request is not taken for a request')
})

t.test('a request that is incomplete behind a slow one does not cut off its response', async (t) => {
  const { app, port, key, databaseUrl } = await startService(t, { config: { HEADERS_TIMEOUT: 200 } })
  const lock = await lockTable(t, databaseUrl, 'categories')
  const timeout = once(app.server, 'clientError')
  const { socket, statuses } = open(t, port)
  const next = bytesOf(list(), key)
  socket.write(Buffer.concat([bytesOf(getList, key), next.subarray(0, 30)]))
  await timeout
  await lock.release()
  await until(() => statuses()?.length === 1, 'the first response arrives')
  socket.write(next.subarray(30))
  await until(() => statuses()?.length === 2, 'the second one too')
  t.same(statuses(), ['200', '200'])
})

const invalid = { garbage: '\0\0\0\0', 'a CONNECT': connectTo }

t.test('invalid HTTP behind a pending create gets no response that could be the create’s', async (t) => {
  const { port, key, databaseUrl } = await startService(t)
  for (const [title, bytes] of Object.entries(invalid)) {
    const lock = await lockTable(t, databaseUrl, 'categories')
    const { socket, closed, statuses } = open(t, port)
    socket.write(bytesOf(createOne, key))
    await lockAwaited(databaseUrl)
    socket.write(bytes)
    await closed
    t.equal(statuses(), null, title)
    await lock.release()
  }
  await until(
    async () => (await query(databaseUrl, 'SELECT FROM categories')).length === 2,
    'all creates are stored: a 400 would have been wrong'
  )
})

t.test('nothing behind a rejected request is handled', async (t) => {
  const { port, key, databaseUrl } = await startService(t)
  for (const [title, bytes] of Object.entries(invalid)) {
    const { socket, closed, statuses } = open(t, port)
    socket.write(bytesOf(bytes + createOne, key))
    await closed
    t.same(statuses(), bytes === connectTo ? null : ['400'], title)
  }
  t.same(await query(databaseUrl, 'SELECT FROM categories'), [])
})

t.test('what follows a response to half a request gets no second response', async (t) => {
  const { port } = await startService(t)
  const { socket, closed, statuses } = open(t, port)
  socket.write(create('', { ...anonymous, 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }))
  await once(socket, 'data')
  socket.write('zz\r\n')
  await closed
  t.same(statuses(), ['401'])
})
