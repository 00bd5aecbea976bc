import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Config } from '../../src/config.ts'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { create, disconnected, inFlight, list, open, request } from './raw.ts'

const keepAlive = { Connection: undefined }
const anonymous = { ...keepAlive, Authorization: undefined }
const get = (path: string, headers = {}) =>
  request(`GET ${path}`, { ...anonymous, ...headers })
const getList = list(keepAlive)
const createOne = create('{"name":"x"}', keepAlive)
const asset = '/docs/static/swagger-ui-bundle.js'
const connectTo = request('CONNECT a:1', anonymous)

/** Requests of every kind that a client can leave. */
const requests = [
  connectTo,
  get('/', {
    Connection: 'Upgrade, HTTP2-Settings',
    Upgrade: 'h2c',
    'HTTP2-Settings': 'AAMAAABkAAQAAP__'
  }),
  // The beginning of TLS.
  '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
  '',
  'GET /liv',
  'GET /livez HTTP/1.1\r\nHost: x\r\nX-Y',
  create('{"na', { ...keepAlive, 'Content-Length': '100' }),
  create('{"na', { ...anonymous, 'Content-Length': '100' }),
  create('5\r\n{"nam\r\n', {
    ...keepAlive,
    'Content-Length': undefined,
    'Transfer-Encoding': 'chunked'
  }),
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
const stages = [
  'after half of the request',
  'after all of it',
  'at the response'
] as const
type Stage = (typeof stages)[number]

async function leave(
  t: Test,
  service: Service,
  request: string,
  stage: Stage,
  way: (socket: Socket) => unknown
) {
  const bytes =
    stage === 'after half of the request'
      ? request.slice(0, request.length >> 1)
      : request
  const { socket, sent, responded, closed } = open(t, service, bytes)
  await sent
  // An incomplete request gets its response when the time for it ends.
  if (stage === 'at the response') await Promise.race([responded, closed])
  way(socket)
  await closed
}

/** Starts the service with a list that is streamed. */
async function start(t: Test, config: Partial<Config>) {
  const service = await startService(t, {
    config: { METRICS_PORT: 0, ...config }
  })
  const rows = "SELECT n, repeat('x', 2000) FROM generate_series(1, 5000) n"
  await query(
    service.databaseUrl,
    `INSERT INTO categories (name, description) ${rows}`
  )
  return service
}

/** Checks that nothing is left of clients that have gone, and that others are served. */
async function recovers(t: Test, service: Service) {
  await disconnected(service)
  await until(async () => (await inFlight()) === 0, 'no request is in flight')
  const response = await service.app.inject({
    url: '/v1/categories',
    headers: service.auth
  })
  t.ok(response.json<unknown[]>().length >= 5000)
}

/** Sends a request that waits for a lock until `release` is called. */
async function block(t: Test, service: Service, request: string) {
  const { release } = await lockTable(t, service.databaseUrl, 'categories')
  const client = open(t, service, request)
  await lockAwaited(service.databaseUrl)
  return { ...client, release }
}

t.test(
  'clients that reset, close or half-close at any stage of any request leave nothing behind',
  async (t) => {
    const service = await start(t, {
      HEADERS_TIMEOUT_MS: 1000,
      REQUEST_TIMEOUT_MS: 1000
    })
    const clients = requests.flatMap((request) =>
      stages.flatMap((stage) =>
        ways.map((way) => leave(t, service, request, stage, way))
      )
    )
    await Promise.all(clients)
    await recovers(t, service)
  }
)

t.test(
  'pipelined requests of clients that reset release their files and their memory',
  async (t) => {
    const service = await start(t, { MAX_RESPONSE_BUFFER_BYTES: 2 ** 23 })
    const openFiles = () => readdirSync('/dev/fd').length
    const before = openFiles()
    for (const [clients, request] of [
      [50, get(asset)],
      [20, getList]
    ] as const) {
      const paused = Array.from({ length: clients }, async () => {
        const { socket, responded } = open(t, service, request.repeat(100))
        await responded
        return socket.pause()
      })
      for (const socket of await Promise.all(paused)) socket.resetAndDestroy()
    }
    await recovers(t, service)
    // The pool may have opened its connections meanwhile.
    await until(() => openFiles() <= before + 10, 'files are closed')
  }
)

t.test(
  'pipelined requests have their responses in order, whatever their size and number',
  async (t) => {
    const service = await startService(t)
    const kinds = [
      get('/livez'),
      get('/none'),
      create(`{"name":"x"${' '.repeat(2000)}}`, keepAlive),
      get(asset, { Range: 'bytes=0-99999' }),
      request('TRACE /', keepAlive)
    ]
    const last = get('/livez', { Connection: 'close' })
    const { closed, statuses } = open(
      t,
      service,
      `${kinds.join('').repeat(100)}${last}what follows the end is discarded`
    )
    await closed
    const expected = Array.from({ length: 100 }, () => [
      '200',
      '404',
      '201',
      '206',
      '405'
    ]).flat()
    t.same(statuses(), [...expected, '200'])
  }
)

t.test(
  'thousands of requests in one packet are not parsed before their turn',
  async (t) => {
    const service = await startService(t)
    let parsed = 0
    service.app.server.on('request', () => parsed++)
    const { release } = await block(
      t,
      service,
      getList + 'GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(3000)
    )
    t.ok(parsed < 100, `${parsed} are parsed while the first one waits`)
    await release()
    await until(() => parsed === 3001, 'all are parsed')
  }
)

t.test('a request to upgrade is the last one of its connection', async (t) => {
  const service = await startService(t)
  const upgrade = { Connection: 'Upgrade', Upgrade: 'h2c' }
  const body = {
    ...anonymous,
    'Content-Length': String(createOne.replace('$KEY', service.key).length)
  }
  const fast = open(
    t,
    service,
    get('/livez', upgrade) + request('POST /none', body)
  )
  fast.socket.on('data', () => void fast.write(createOne))
  await fast.closed
  const slow = await block(t, service, list(upgrade))
  const parsed = once(service.app.server, 'request')
  void slow.write(createOne)
  await parsed
  await slow.release()
  await slow.closed
  t.same([fast.statuses(), slow.statuses()], [['200'], ['200']])
  const stored = await query(service.databaseUrl, 'SELECT FROM categories')
  t.same(stored, [], 'the body of a request is not taken for a request')
})

t.test(
  'a request whose body is incomplete behind a slow one does not cut off its response',
  async (t) => {
    const service = await startService(t, {
      config: { REQUEST_TIMEOUT_MS: 200 }
    })
    const timeout = once(service.app.server, 'clientError')
    const next = create('{"name":"x"}')
    const { write, release, closed, statuses } = await block(
      t,
      service,
      getList + next.slice(0, -5)
    )
    await timeout
    void write(next.slice(-5))
    await release()
    await closed
    t.same(statuses(), ['200', '201'])
  }
)

t.test(
  'a request whose headers are incomplete behind a slow one does not cut off its response',
  async (t) => {
    const service = await startService(t, {
      config: { HEADERS_TIMEOUT_MS: 200 }
    })
    const { server } = service.app
    const timeout = once(server, 'clientError')
    const next = list()
    const { write, release, closed, statuses } = await block(
      t,
      service,
      getList + next.slice(0, 30)
    )
    await timeout
    const parsed = once(server, 'request')
    void write(next.slice(30))
    await parsed
    await release()
    await closed
    t.same(statuses(), ['200', '200'])
  }
)

for (const [title, bytes, expected] of [
  ['garbage', '\0\0\0\0', ['400']],
  ['a CONNECT', connectTo, null]
] as const) {
  t.test(
    `${title} behind a pending create gets no response that could be the create’s`,
    async (t) => {
      const service = await startService(t)
      const { write, release, closed, received } = await block(
        t,
        service,
        createOne
      )
      void write(bytes)
      await closed
      t.equal(received(), '')
      await release()
      const isStored = async () =>
        (await query(service.databaseUrl, 'SELECT FROM categories')).length ===
        1
      await until(isStored, 'the create is stored: a 400 would have been wrong')
    }
  )

  t.test(`nothing behind ${title} is handled`, async (t) => {
    const service = await startService(t)
    const { closed, statuses } = open(t, service, bytes + createOne)
    await closed
    t.same(statuses(), expected)
    t.same(await query(service.databaseUrl, 'SELECT FROM categories'), [])
  })
}

t.test(
  'what follows a response to half a request gets no second response',
  async (t) => {
    const body = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }
    const { write, responded, closed, statuses } = open(
      t,
      await startService(t),
      create('', { ...anonymous, ...body })
    )
    await responded
    void write('zz\r\n')
    await closed
    t.same(statuses(), ['401'])
  }
)
