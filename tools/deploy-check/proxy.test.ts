// What the proxy of docker-compose.yml does for its replicas. Run by
// `npm run rules --prefix tools/deploy-check`.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestListener
} from 'node:http'
import { connect } from 'node:tls'
import { setImmediate } from 'node:timers/promises'
import { json } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import {
  anonymous,
  chunked,
  createRequest,
  getRequest,
  type Headers,
  keepAlive,
  listRequest,
  openConnection,
  parts,
  request as rawRequest,
  send
} from '../../test/framework/http/raw-requests.ts'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { startNotes } from '../../test/support/notes.ts'
import { until } from '../../test/support/until.ts'
import { haproxyVersion, startHaproxy } from './haproxy.ts'

/** Starts the proxy in front of a replica that is ready. */
async function start(t: Test, onRequest: RequestListener) {
  const replica = createServer((received, response) => {
    if (received.url === '/readyz') response.end()
    else onRequest(received, response)
  })
  const port = await listenOnLoopback(t, replica)
  const { url, isReady } = await startHaproxy(t, [`http://127.0.0.1:${port}`])
  await until(isReady, 'the proxy is ready')

  return `${url}/v1/categories`
}

const service = await startNotes(t)
const proxy = await startHaproxy(t, [service.url])
await until(proxy.isReady, 'the proxy is ready')
/** What a client of the service uses. */
const proxied = { port: Number(new URL(proxy.url).port), key: service.key }

t.test('a request waits in the proxy for its body', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await start(t, ({ method }, response) => {
    seen.push(method)
    response.end()
  })
  const headers = { 'content-length': 2 }
  const create = request(url, { agent: false, method: 'POST', headers })
  const responded = once(create, 'response')
  create.flushHeaders()
  await fetch(url)
  await fetch(url)
  t.same(seen, ['GET', 'GET'], 'it takes no place at the replica')

  create.end('{}')
  await responded
  t.same(seen, ['GET', 'GET', 'POST'])
})

t.test('what the proxy rejects does not wait for its body', async (t) => {
  const url = await start(t, () => t.fail('it reached the replica'))
  const headers = { 'content-length': 2, 'x-request-id': 'mine' }
  const sent = request(url, { agent: false, method: 'PROPFIND', headers })
  t.teardown(() => sent.destroy())
  sent.flushHeaders()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  t.match(response, { statusCode: 501, headers: { 'x-request-id': 'mine' } })
})

t.test('after a lost response, the proxy says what to repeat', async (t) => {
  const url = await start(t, ({ socket }) => socket.destroy())
  const retryAdvice = async (method: string, headers = {}) => {
    // After another request on the connection, the proxy would just close it.
    const options = { agent: false, method, headers }
    const sent = request(url, options).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    t.match(await json(response), { code: 'outcome_unknown', status: 503 })
    const { 'x-should-retry': advice, 'retry-after': time } = response.headers
    return [advice, time]
  }
  t.same(await retryAdvice('GET'), ['true', '1'])
  t.same(await retryAdvice('DELETE'), ['true', '1'])
  t.same(await retryAdvice('POST'), ['false', undefined])
  t.same(await retryAdvice('POST', { 'Idempotency-Key': 'x' }), ['true', '1'])
})

const list = (line: string, headers?: Headers) =>
  rawRequest(`GET /v1/notes ${line}`, headers)
const create = (headers: Headers, body = '{}') => createRequest(body, headers)
const coding = (value: string, body = '2\r\n{}\r\n0\r\n\r\n') =>
  create({ ...chunked, 'Transfer-Encoding': value }, body)
const manyHeaders = Object.fromEntries(
  Array.from({ length: 150 }, (_, index) => [`x${index}`, ''])
)
const badRequest = { status: 400, code: 'invalid_request' }
const tooLong = { status: 431, code: 'headers_too_large' }

/** Requests that the service rejects, or a rule of the proxy. */
const rejected: [error: object, ...requests: string[]][] = [
  [
    badRequest,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    list('HTTP/1.1', { Host: undefined }),
    rawRequest('GET /%zz'),
    coding('chunked', '0\r\n\r\n'),
    list('HTTP/1.1', { 'Content-Length': '2' }) + '{}',
    create({ 'Content-Length': '2, 2' })
  ],
  [
    { status: 401, code: 'unauthorized' },
    list('HTTP/1.0', { Host: undefined, Authorization: undefined }),
    list('HTTP/1.1', { Authorization: undefined, Expect: 'cake' }),
    list('HTTP/1.1', { Authorization: ['Bearer $KEY', 'Bearer $KEY'] })
  ],
  [
    { status: 404, code: 'not_found' },
    rawRequest('GET /none', { Connection: 'Upgrade, close', Upgrade: 'h2c' }),
    'GET /none HTTP/1.1\nHost: x\nConnection: close\n\n'
  ],
  [{ status: 405, code: 'method_not_allowed' }, rawRequest('PUT /v1/notes')],
  [
    { status: 413, code: 'payload_too_large' },
    createRequest('x'.repeat(100_000)),
    create(chunked, parts('x'.repeat(65_537)))
  ],
  [tooLong, list('HTTP/1.1', { X: 'a'.repeat(20_000) })],
  [
    { status: 501, code: 'not_implemented' },
    ...['FOO', 'get', 'TRACE', 'PROPFIND'].map((method) =>
      rawRequest(`${method} /v1/notes`)
    ),
    rawRequest('CONNECT a:1', { Host: 'a:1' })
  ]
]

/** What the proxy does not take for HTTP. */
const malformed: [error: object, ...requests: string[]][] = [
  [
    badRequest,
    'nonsense\r\n\r\n',
    '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n',
    'GET /\r\n',
    'GET / HTTP/1.1\rHost: x\r\r',
    rawRequest('GET v1'),
    rawRequest('GET /a b'),
    rawRequest('GET /a#b'),
    rawRequest('GET /\x01'),
    rawRequest('GET http://other/', { Host: 'x' }),
    list('HTTP/1.1', { Host: ['a', 'b'] }),
    list('HTTP/1.1', { 'Bad Header': 'x' }),
    list('HTTP/1.1', manyHeaders),
    list('HTTP/1.0', { 'Content-Length': '2' }) + '{}',
    ...['x', '-1', '+2', '9'.repeat(30)].map((length) =>
      create({ 'Content-Length': length })
    ),
    create({ 'Content-Length': ['2', '3'] }),
    ...['gzip', 'identity', 'gzip, chunked', 'chunked, chunked'].map((value) =>
      coding(value)
    ),
    ...['zz\r\n', `${'f'.repeat(20)}\r\n`, '2\r\n{}xx0\r\n\r\n'].map((body) =>
      coding('chunked', body)
    )
  ],
  [
    haproxyVersion < 3.1 ? badRequest : tooLong,
    rawRequest(`GET /${'a'.repeat(40_000)}`),
    list('HTTP/1.1', { X: 'a'.repeat(40_000) })
  ]
]

/** The start of a request, for the name of an assertion. */
const shown = (text: string) => JSON.stringify(text.slice(0, 200))

for (const [error, ...requests] of rejected) {
  t.test(`an Error body: ${JSON.stringify(error)}`, async (t) => {
    for (const text of requests) {
      const { headers, body } = await send(proxied, text)
      t.match(JSON.parse(body), error, shown(text))
      t.match(headers, { 'x-request-id': /./ })
    }
  })
}

for (const [error, ...requests] of malformed) {
  t.test(`malformed: ${JSON.stringify(error)}`, async (t) => {
    for (const text of requests) {
      const { status, body } = await send(proxied, text)
      // Before 3.2, the proxy ignores its error files here.
      if (haproxyVersion < 3.2) {
        t.ok([400, 413, 422].includes(status), shown(text))
        t.match(body, /^<html>/, shown(text))
      } else {
        t.match(error, { status }, shown(text))
        t.match(JSON.parse(body), error, shown(text))
      }
    }
  })
}

t.test('a large body gets its error, 100 of 100 times', async (t) => {
  for (const [status, headers] of [
    [413, {}],
    [401, { Authorization: undefined }],
    [413, chunked]
  ] as const) {
    const content = 'x'.repeat(1_000_000)
    const body =
      headers === chunked ? `f4240\r\n${content}\r\n0\r\n\r\n` : content
    const statuses = new Map<number, number>()
    for (let count = 0; count < 100; count++) {
      const response = await send(proxied, createRequest(body, headers))
      const before = statuses.get(response.status) ?? 0
      statuses.set(response.status, before + 1)
    }
    t.same([...statuses], [[status, 100]])
  }
})

const note = createRequest('{"name":"x"}', keepAlive)

/** How clients send requests, and the statuses of their responses. */
const clients: [what: string, bytes: string, statuses: number[]][] = [
  ['one request', note, [201]],
  [
    'pipelined requests',
    listRequest(keepAlive).repeat(20) + note,
    [...Array<number>(20).fill(200), 201]
  ],
  [
    'pipelined errors',
    getRequest('/none') +
      createRequest('{', anonymous) +
      createRequest('{', keepAlive) +
      note +
      // Responding before its end, the proxy may close the connection.
      createRequest('x'.repeat(70_000), keepAlive),
    [404, 401, 400, 201, 413]
  ],
  [
    'chunks of a byte',
    createRequest(parts('{"name":"x"}'), { ...keepAlive, ...chunked }) + note,
    [201, 201]
  ],
  [
    'an upgrade, and another request',
    getRequest('/livez', { Connection: 'Upgrade', Upgrade: 'h2c' }) + note,
    [200, 201]
  ]
]

for (const [what, bytes, statuses] of clients) {
  t.test(`${what}: at once, half-closed, and byte by byte`, async (t) => {
    const atOnce = openConnection(t, proxied, bytes)
    const halfClosed = openConnection(t, proxied, bytes)
    halfClosed.socket.end()
    const slow = openConnection(t, proxied)
    slow.socket.setNoDelay()
    const text = bytes.replaceAll('$KEY', service.key)
    for (const byte of text.slice(0, 1000)) {
      slow.write(byte)
      await setImmediate()
    }
    slow.write(text.slice(1000))

    for (const client of [atOnce, slow]) {
      const hasAll = () => client.statuses().length >= statuses.length
      await until(hasAll, `${what} get their responses`)
      t.same(client.statuses(), statuses)
    }
    // What follows the first request is lost in some versions of the proxy.
    const hasFirst = () => halfClosed.statuses()[0] === statuses[0]
    await until(hasFirst, 'a half-closed client gets its first response')
  })
}

t.test('a request that stays incomplete gets a 408', async (t) => {
  const { server } = service.app
  const long = { ...keepAlive, 'Content-Length': '60000' }
  const requests = [
    'GET / HTTP/1.1\r\nHost: x\r\n',
    createRequest('{', long),
    // More than the proxy waits for.
    createRequest(' '.repeat(50_000), { ...long, 'X-Request-Id': 'mine' })
  ]
  const statuses = requests.map(async (bytes) => {
    const client = openConnection(t, proxied, bytes)
    await until(() => client.statuses()[0] === 408, 'it gets a 408')
    return client.received()
  })
  server.requestTimeout = server.headersTimeout = 1000
  const [, , late = ''] = await Promise.all(statuses)
  t.match(late, /x-request-id: mine/i)
  t.match(late, /"code":"request_timeout"/)
})

t.test('the proxy compresses the docs page, not the lists', async (t) => {
  const content = 'x'.repeat(5000)
  const base = await start(t, ({ headers, url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://x')
    response.setHeader('Content-Type', searchParams.get('type') ?? '')
    response.setHeader('ETag', searchParams.get('etag') ?? '')
    const isKnown = headers['if-none-match'] === searchParams.get('etag')
    response.writeHead(isKnown ? 304 : 200).end(isKnown ? '' : content)
  })
  const get = async (
    type: string,
    etag: string,
    headers = {},
    method = 'GET'
  ) => {
    const query = new URLSearchParams({ type, etag }).toString()
    const options = {
      agent: false,
      method,
      headers: { 'accept-encoding': 'gzip', ...headers }
    }
    const sent = request(`${base}?${query}`, options).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return {
      status: response.statusCode,
      headers: response.headers,
      body: Buffer.concat(await response.toArray())
    }
  }

  const compressed = { 'content-encoding': 'gzip', vary: /Accept-Encoding/i }
  for (const type of [
    'text/html; charset=utf-8',
    'text/css',
    'application/javascript'
  ]) {
    const sent = await get(type, 'W/"a"')
    t.match(sent.headers, { ...compressed, etag: 'W/"a"' }, type)
    t.equal(gunzipSync(sent.body).toString(), content)
  }
  t.match((await get('text/css', '"a"')).headers, { etag: 'W/"a"' })

  const known = await get('text/css', 'W/"a"', { 'if-none-match': 'W/"a"' })
  t.match(known, { status: 304, headers: { etag: 'W/"a"' } })
  t.equal(known.body.length, 0)
  const head = await get('text/css', 'W/"a"', {}, 'HEAD')
  t.match(head, { status: 200, headers: { etag: 'W/"a"' } })
  t.equal(head.body.length, 0)

  const asList = await get('application/json; charset=utf-8', 'W/"a"')
  t.equal(asList.headers['content-encoding'], undefined)
  t.equal(asList.body.toString(), content)
  const plain = await get('text/css', 'W/"a"', { 'accept-encoding': 'br' })
  t.equal(plain.headers['content-encoding'], undefined)
})

/** A client that reads two files quickly, and then nothing, while it sends. */
async function startStalled(t: Test, port: number, size: number) {
  const socket = connect({
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2', 'http/1.1']
  }).on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  t.equal(socket.alpnProtocol, 'http/1.1')
  const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
  for (let files = 0; files < 2; files++) {
    socket.write(get)
    for (let got = 0; got < size;) {
      const [chunk] = (await once(socket, 'data')) as [Buffer]
      got += chunk.length
    }
  }
  socket.pause().write(get.repeat(10_000))
}

t.test('clients that read nothing fit into the memory', async (t) => {
  const size = 1_700_000
  const replica = createServer((_, response) =>
    response.end(Buffer.alloc(size))
  )
  const port = await listenOnLoopback(t, replica)
  const { tlsPort, isReady, group } = await startHaproxy(
    t,
    [`http://127.0.0.1:${port}`],
    { TLS: 'on' }
  )
  await until(isReady, 'the proxy is ready')
  /** Adds up numbers, as KiB, of what a command prints. */
  const sum = (pattern: RegExp, command: string, ...args: string[]) => {
    const output = execFileSync(command, args).toString()
    const numbers = [...output.matchAll(pattern)].map(([, one]) => Number(one))
    return numbers.reduce((total, one) => total + one, 0)
  }
  const sockets = `sport = :${tlsPort} or dport = :${port}`
  const inKernel = () =>
    sum(/skmem:\(r(\d+)/g, 'ss', '-Htnm', sockets) / 1024 +
    sum(/,w(\d+)/g, 'ss', '-Htnm', sockets) / 1024
  const inProcess = () => sum(/(\d+)/g, 'ps', '-o', 'rss=', '-g', `${group}`)

  let count = 0
  /** Opens connections, and adds up their memory when it is in use. */
  const memoryWith = async (more: number) => {
    for (let index = 0; index < more; index++)
      await startStalled(t, tlsPort, size)
    count += more
    const isFull = () => Promise.resolve(inKernel() / count > 300)
    await until(isFull, 'the buffers are full')
    return inKernel() + inProcess()
  }

  // The first connections also need what all share.
  const before = await memoryWith(20)
  const each = ((await memoryWith(50)) - before) / 50
  t.comment(`${Math.round(each)} KiB for each connection`)
  const compose = readFileSync('docker-compose.yml', 'utf8')
  const [, limit] = /proxy:[^]*?mem_limit: (\d+)g/.exec(compose) ?? []
  t.ok(4096 * each < Number(limit) * 2 ** 20)
})
