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
import t, { type Test } from 'tap'
import {
  anonymous,
  chunked,
  createRequest,
  getRequest,
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

const badRequest = { status: 400, code: 'invalid_request' }
const tooLong = { status: 431, code: 'headers_too_large' }
const unknownCoding = { ...chunked, 'Transfer-Encoding': 'gzip' }

/** Requests that the service rejects, or a rule of the proxy. */
const rejected: [error: object, request: string][] = [
  [badRequest, listRequest({ Host: undefined })],
  [
    { status: 401, code: 'unauthorized' },
    listRequest({ Authorization: undefined, Expect: 'cake' })
  ],
  [
    { status: 404, code: 'not_found' },
    rawRequest('GET /none', { Connection: 'Upgrade, close', Upgrade: 'h2c' })
  ],
  [tooLong, listRequest({ X: 'a'.repeat(20_000) })],
  [{ status: 501, code: 'not_implemented' }, rawRequest('TRACE /v1/notes')]
]

/** What the proxy does not take for HTTP: a row for each of its error files. */
const malformed: [error: object, request: string][] = [
  [badRequest, 'nonsense\r\n\r\n'],
  [badRequest, rawRequest('GET / HTTP/1.0', { 'Content-Length': '2' }) + '{}'],
  [badRequest, createRequest('{}', unknownCoding)],
  [
    haproxyVersion < 3.1 ? badRequest : tooLong,
    rawRequest(`GET /${'a'.repeat(40_000)}`)
  ]
]

/** The start of a request, for the name of an assertion. */
const shown = (text: string) => JSON.stringify(text.slice(0, 200))

t.test('what is rejected gets an Error body', async (t) => {
  for (const [error, text] of rejected) {
    const { headers, body } = await send(proxied, text)
    t.match(JSON.parse(body), error, shown(text))
    t.match(headers, { 'x-request-id': /./ })
  }
})

t.test('what is malformed gets an Error body', async (t) => {
  for (const [error, text] of malformed) {
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

t.test('after many guesses, an address gets 429 for more', async (t) => {
  const { url, isReady } = await startHaproxy(t, [service.url])
  await until(isReady, 'the proxy is ready')
  const guess = () => fetch(`${url}/v1/notes`)
  for (let count = 0; count < 600; count++) t.equal((await guess()).status, 401)

  const response = await guess()
  t.equal(response.headers.get('retry-after'), '60')
  t.match(await response.json(), { code: 'rate_limited', status: 429 })
  const headers = { authorization: `Bearer ${service.key}` }
  t.equal((await fetch(`${url}/v1/notes`, { headers })).status, 200)
})

const note = createRequest('{"name":"x"}', keepAlive)

const pipelined =
  listRequest(keepAlive).repeat(20) +
  createRequest(parts('{"name":"x"}'), { ...keepAlive, ...chunked }) +
  getRequest('/none', keepAlive) +
  createRequest('{', anonymous) +
  createRequest('{', keepAlive) +
  note +
  // Responding before its end, the proxy may close the connection.
  createRequest('x'.repeat(70_000), keepAlive)
const expected = [...Array<number>(20).fill(200), 201, 404, 401, 400, 201, 413]

t.test('pipelined requests, at once, slow, and half-closed', async (t) => {
  const atOnce = openConnection(t, proxied, pipelined)
  const halfClosed = openConnection(t, proxied, pipelined)
  halfClosed.socket.end()
  const slow = openConnection(t, proxied)
  slow.socket.setNoDelay()
  const text = pipelined.replaceAll('$KEY', service.key)
  const end = text.length - 70_000
  for (const byte of text.slice(0, end)) {
    slow.write(byte)
    await setImmediate()
  }
  slow.write(text.slice(end))

  for (const client of [atOnce, slow]) {
    const hasAll = () => client.statuses().length >= expected.length
    await until(hasAll, 'all get their responses')
    t.same(client.statuses(), expected)
  }
  // What follows the first request is lost in some versions of the proxy.
  const hasFirst = () => halfClosed.statuses()[0] === 200
  await until(hasFirst, 'a half-closed client gets its first response')
})

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
  const url = await start(t, ({ headers }, response) => {
    response.setHeader('Content-Type', String(headers.accept))
    response.setHeader('ETag', '"a"').end(content)
  })
  const get = async (accept: string) => {
    const headers = { accept, 'accept-encoding': 'gzip' }
    const response = await fetch(url, { headers })
    t.equal(await response.text(), content)
    const { 'content-encoding': coding, etag } = Object.fromEntries(
      response.headers
    )
    return [coding, etag]
  }
  for (const type of ['text/html; charset=utf-8', 'text/css'])
    t.same(await get(type), ['gzip', 'W/"a"'])
  t.same(await get('application/javascript'), ['gzip', 'W/"a"'])
  t.same(await get('application/json; charset=utf-8'), [undefined, '"a"'])
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
