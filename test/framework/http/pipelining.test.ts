import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { lockAwaited, lockTable, query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { parseRaw, type Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  anonymous,
  createRequest,
  disconnected,
  fillNotes,
  getRequest,
  keepAlive,
  listRequest,
  openConnection,
  request,
  send
} from './raw-requests.ts'

const asset = '/docs/static/swagger-ui-bundle.js'
const getList = listRequest(keepAlive)
const createOne = createRequest('{"name":"x"}', keepAlive)
const connectTo = request('CONNECT a:1', anonymous)
const tinyRequest = 'GET / HTTP/1.1\r\nHost:\r\n\r\n'

const stored = ({ databaseUrl }: Service) =>
  query(databaseUrl, 'SELECT FROM notes')

/** Sends a request that waits for a lock until `release` is called. */
async function block(t: Test, service: Service, bytes: string) {
  const { release } = await lockTable(t, service.databaseUrl, 'notes')
  const client = openConnection(t, service, bytes)
  await lockAwaited(service.databaseUrl)
  return { ...client, release }
}

/** The responses to bytes until the service closes the connection. */
async function statusesFor(t: Test, service: Service, bytes: string) {
  const { closed, statuses } = openConnection(t, service, bytes)
  await closed
  return statuses()
}

t.test('only the first of pipelined requests is handled', async (t) => {
  const service = await startNotes(t)
  const firstRequests = {
    200: getRequest('/livez'),
    201: createOne,
    302: getRequest('/'),
    404: getRequest('/none'),
    405: request('TRACE /', keepAlive)
  }

  for (const [status, first] of Object.entries(firstRequests)) {
    const others = createOne.repeat(20)
    t.same(await statusesFor(t, service, first + others), [status])
  }
  t.equal((await stored(service)).length, 1, 'that of the 201')
})

t.test(
  'a response with requests behind it says that its connection closes',
  async (t) => {
    const service = await startNotes(t)
    const { release, closed, received } = await block(
      t,
      service,
      getList + createOne
    )
    await release()
    await closed
    const { status, headers } = parseRaw(received())
    t.same([status, headers['connection']], [200, 'close'])
  }
)

t.test(
  'a client that pipelines and goes on sending gets the whole response',
  async (t) => {
    const service = await startNotes(t)
    const bytes = getRequest(asset) + getRequest('/livez').repeat(5)
    const { write, responded, closed, received } = openConnection(
      t,
      service,
      bytes
    )
    await responded
    write('x'.repeat(2_000_000))
    await closed
    const { headers, body } = parseRaw(received())
    t.equal(body.length, Number(headers['content-length']))
  }
)

t.test('a request that arrives during a response is dropped', async (t) => {
  const service = await startNotes(t)
  await fillNotes(service)
  const { socket, write, responded, closed, statuses } = openConnection(
    t,
    service,
    getList
  )

  await responded
  socket.pause()
  const parsed = once(service.app.server, 'request')
  write(createOne)
  await parsed
  socket.resume()
  await closed

  t.same(statuses(), ['200'])
  t.equal((await stored(service)).length, 5000)
})

t.test('a connection with thousands of requests is closed', async (t) => {
  const service = await startNotes(t)
  const { closed, statuses } = openConnection(
    t,
    service,
    tinyRequest.repeat(2600)
  )
  await closed
  t.ok((statuses() ?? []).length <= 1)
  await disconnected(service)
})

t.test('a request after the response is handled', async (t) => {
  const service = await startNotes(t)
  const { socket, write, statuses } = openConnection(
    t,
    service,
    getRequest('/livez')
  )
  for (let count = 1; count <= 20; count++) {
    await until(() => statuses()?.length === count, 'a response comes')
    write(getRequest('/livez'))
  }
  await until(() => statuses()?.length === 21, 'the last response comes')
  t.notOk(socket.closed)
})

t.test('a request to upgrade is the last one of its connection', async (t) => {
  const service = await startNotes(t)
  const upgrade = { Connection: 'Upgrade', Upgrade: 'h2c' }
  const length = createOne.replace('$KEY', service.key).length
  const post = request('POST /none', {
    ...anonymous,
    'Content-Length': String(length)
  })

  const fast = openConnection(t, service, getRequest('/livez', upgrade) + post)
  fast.socket.on('data', () => fast.write(createOne))
  await fast.closed
  t.same(fast.statuses(), ['200'])

  const slow = await block(t, service, listRequest(upgrade))
  const parsed = once(service.app.server, 'request')
  slow.write(createOne)
  await parsed
  await slow.release()
  await slow.closed
  t.same(slow.statuses(), ['200'])

  t.same(await stored(service), [], 'no body is taken for a request')
})

const nextCreate = createRequest('{"name":"x"}')
const incomplete = {
  'half of the headers': nextCreate.slice(0, 30),
  'half of the body': nextCreate.slice(0, -5)
}

for (const [title, part] of Object.entries(incomplete)) {
  t.test(`${title} behind a slow request do not cut it off`, async (t) => {
    const service = await startNotes(t, {
      config: { HEADERS_TIMEOUT_MS: 200, REQUEST_TIMEOUT_MS: 200 }
    })
    const timeout = once(service.app.server, 'clientError')
    const slow = await block(t, service, getList + part)
    await timeout
    slow.write(nextCreate.slice(part.length))
    await slow.release()
    await slow.closed
    t.same(slow.statuses(), ['200'])
    t.same(await stored(service), [], 'the rest is not handled')
  })
}

const followers = { garbage: '\0\0\0\0', 'a CONNECT': connectTo }

for (const [title, bytes] of Object.entries(followers)) {
  t.test(`${title} behind a pending create`, async (t) => {
    const service = await startNotes(t)
    const inOnePacket = await block(t, service, createOne + bytes + createOne)
    await inOnePacket.release()
    await inOnePacket.closed
    t.same(inOnePacket.statuses(), ['201'], 'the create has its response')

    const later = await block(t, service, createOne)
    later.write(bytes + createOne)
    await later.release()
    await later.closed
    t.same(later.statuses(), ['201'], 'the create has its response')

    t.equal((await stored(service)).length, 2, 'nothing behind is handled')
  })

  t.test(`${title} behind a large response`, async (t) => {
    const service = await startNotes(t)
    const client = openConnection(t, service, getRequest(asset) + bytes)
    client.socket.on('data', () => {
      client.socket.pause()
      setTimeout(() => client.socket.resume(), 5)
    })
    await client.closed
    const { headers, body } = parseRaw(client.received())
    t.equal(body.length, Number(headers['content-length']))
  })
}

t.test('a client that stops reading before a CONNECT is closed', async (t) => {
  const service = await startNotes(t, { config: { IDLE_TIMEOUT_MS: 300 } })
  await fillNotes(service)
  const { socket, received } = openConnection(t, service, getList + connectTo)
  socket.pause()
  await once(service.app.server, 'connect')
  await disconnected(service)
  t.ok(received().length < 10_000_000)
})

t.test('a client that resets after the last response is gone', async (t) => {
  const service = await startNotes(t)
  const error = once(service.app.server, 'clientError')
  const { socket } = openConnection(
    t,
    service,
    getRequest('/livez', { Connection: 'close' })
  )
  socket.once('data', () => socket.resetAndDestroy())
  await error
  await disconnected(service)
})

t.test('nothing behind garbage is handled', async (t) => {
  const service = await startNotes(t)
  const bytes = followers.garbage + createOne
  t.same(await statusesFor(t, service, bytes), ['400'])
  t.same(await stored(service), [])
})

t.test('nothing behind a CONNECT is handled', async (t) => {
  const service = await startNotes(t)
  const bytes = connectTo + createOne
  t.same(await statusesFor(t, service, bytes), ['400'])
  t.same(await statusesFor(t, service, getRequest('/livez') + bytes), ['200'])
  t.same(await stored(service), [])
})

t.test('a CONNECT after a complete response is rejected', async (t) => {
  const service = await startNotes(t)
  const { write, responded, closed, statuses } = openConnection(
    t,
    service,
    getRequest('/livez')
  )
  await responded
  write(connectTo)
  await closed
  t.same(statuses(), ['200', '400'])
})

t.test('half a request has one response', async (t) => {
  const service = await startNotes(t)
  const chunked = {
    'Content-Length': undefined,
    'Transfer-Encoding': 'chunked'
  }
  const bytes = createRequest('', { ...anonymous, ...chunked })
  const { write, responded, closed, statuses } = openConnection(
    t,
    service,
    bytes
  )

  await responded
  write('zz\r\n')
  await closed
  t.same(statuses(), ['401'])
})

/** Sends bytes, closes this side, and returns what the service sends. */
async function halfClose({ port, key }: Service, bytes: string) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(bytes.replaceAll('$KEY', key))
  const received = await text(socket)
  socket.destroy()

  return parseRaw(received)
}

t.test('a client that closes its side gets its response', async (t) => {
  const service = await startNotes(t)
  const statuses: number[] = []
  for (let count = 0; count < 10; count++)
    statuses.push((await halfClose(service, createOne)).status)
  t.same(statuses, Array(10).fill(201))

  const half = createOne.slice(0, -4)
  t.equal((await halfClose(service, half)).status, 400, 'for half a request')
  await disconnected(service)
})

t.test('a body whose end a proxy may see elsewhere is rejected', async (t) => {
  const service = await startNotes(t)
  const chunkedCreate = (line: string, coding: string) =>
    request(
      line,
      {
        ...keepAlive,
        'Content-Length': undefined,
        'Transfer-Encoding': coding
      },
      'c\r\n{"name":"x"}\r\n0\r\n\r\n'
    )

  const rejected = [
    chunkedCreate('POST /v1/notes HTTP/1.0', 'chunked'),
    chunkedCreate('POST /v1/notes HTTP/1.1', 'gzip, chunked'),
    chunkedCreate('POST /v1/notes HTTP/1.1', 'chunked, chunked'),
    chunkedCreate('POST /%zz HTTP/1.1', 'gzip, chunked')
  ]

  for (const bytes of rejected) {
    const { status, headers } = await send(service, bytes)
    t.same([status, headers['connection']], [400, 'close'], bytes)
  }
  t.same(await stored(service), [])
})
