import t, { type Test } from 'tap'
import { createDatabase, query } from './support/database.ts'
import {
  chunked,
  createCategoryRequest,
  fillCategories,
  getRequest,
  isComplete,
  keepAlive,
  listCategoriesRequest,
  openConnection,
  request,
  send,
  unauthenticated,
  waitForDisconnects
} from './support/raw-http.ts'
import { recorder } from './support/recorder.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

const databaseUrl = await createDatabase(t)
await fillCategories(databaseUrl)
const { lines, log } = recorder()
const service = await startService(t, { databaseUrl, log })
const { server } = service.app

/** Lets requests time out after 200 ms, or as without the test. */
function setRequestTimeouts(timeoutMs = 200): void {
  server.headersTimeout = timeoutMs
  server.requestTimeout = timeoutMs
}
t.afterEach(() => setRequestTimeouts(30_000))

/** A create whose body does not come. */
const halfSent = (headers = {}) =>
  createCategoryRequest('{', {
    ...keepAlive,
    'Content-Length': '100',
    ...headers
  })

/** A create whose body is not HTTP. */
const malformed = (headers = {}) =>
  createCategoryRequest('zz\r\n', { ...keepAlive, ...chunked, ...headers })

t.test('a request that is not received has its error', async (t) => {
  setRequestTimeouts()
  const headers = { 'X-Request-Id': 'mine' }
  for (const [status, code, bytes] of [
    [400, 'invalid_request', malformed(headers)],
    [408, 'request_timeout', halfSent(headers)]
  ] as const) {
    lines.length = 0
    const response = await send(service, bytes)
    t.match(response.headers, { 'x-request-id': 'mine', connection: 'close' })
    t.match(JSON.parse(response.body), { code, status })
    await waitForDisconnects(service)
    t.match(lines.pop(), { reqId: 'mine', status, code })
    t.same(lines, [])
  }
})

t.test('bytes that are not a request get a bare 400', async (t) => {
  setRequestTimeouts()
  const half = 'GET /v1/categories HTTP/1.1\r\nHost: x\r\n'
  for (const bytes of ['nonsense\r\n\r\n', half])
    t.match(await send(service, bytes), { status: 400, body: '' })
})

t.test('a late body adds nothing to a response that has begun', async (t) => {
  const long = { ...keepAlive, 'Content-Length': '99999999' }
  for (const [status, bytes] of [
    [401, halfSent(unauthenticated)],
    [413, halfSent(long)],
    [400, request('POST /%zz', long, '{')],
    [200, request('GET /docs/static/swagger-ui-bundle.js', long, '{')]
  ] as const) {
    const client = openConnection(t, service, bytes)
    await client.responded
    // What follows comes too late, or is not HTTP.
    client.socket.pause()
    setRequestTimeouts()
    await waitForDisconnects(service)
    client.socket.resume()
    await client.closed
    t.same(client.statuses(), [status], bytes.slice(0, 50))
    setRequestTimeouts(30_000)
  }
})

t.test('no client takes an error for the response to a create', async (t) => {
  const create = createCategoryRequest('{"name":"x"}', keepAlive)
  for (const bytes of ['no HTTP\r\n\r\n', malformed(), halfSent()]) {
    setRequestTimeouts()
    const { closed, statuses } = openConnection(t, service, create + bytes)
    await closed
    t.not(statuses()[0], 400, bytes)
    t.not(statuses()[0], 408, bytes)
    setRequestTimeouts(30_000)
  }
})

/** A client that has asked for the list, and does not read it. */
async function openReader(t: Test, target: Service) {
  const client = openConnection(t, target, listCategoriesRequest(keepAlive))
  await client.responded
  client.socket.pause()
  return client
}

t.test('a shutdown lets clients read, and closes idle ones', async (t) => {
  const replica = await startService(t, { databaseUrl })
  const silent = await openReader(t, replica)
  const busy = await openReader(t, replica)
  const idle = ['', 'GET /livez HTTP/1.1\r\nHos'].map((bytes) =>
    openConnection(t, replica, bytes)
  )

  replica.app.isDraining = true
  const last = await send(replica, getRequest('/v1/pets/1', keepAlive))
  t.match(last, { status: 404, headers: { connection: 'close' } })
  const closing = replica.app.close()
  await Promise.all(idle.map(({ closed }) => closed))
  for (const { socket, received } of [silent, busy]) {
    socket.resume()
    await until(() => isComplete(received()), 'it has the list')
  }
  busy.write(getRequest('/livez', keepAlive))
  await Promise.all([closing, busy.closed, silent.closed])
  t.same(busy.statuses(), [200, 200], 'and one more response')
})

t.test('slow readers of old lists deny the list to nobody', async (t) => {
  // Room for one list, compressed or not.
  const config = { MAX_RESPONSE_BUFFER_BYTES: 16_400_000 }
  const replica = await startService(t, { databaseUrl, config })
  const evicted = await openReader(t, replica)
  await query(databaseUrl, "INSERT INTO categories (name) VALUES ('new')")
  const kept = await openReader(t, replica)
  t.ok(isComplete((await send(replica, listCategoriesRequest())).body))
  const gzip = { 'Accept-Encoding': 'gzip' }
  t.match(await send(replica, listCategoriesRequest(gzip)), { status: 200 })

  evicted.socket.resume()
  await evicted.closed
  t.notOk(isComplete(evicted.received()))
  kept.socket.resume()
  await until(() => isComplete(kept.received()), 'a reader of the last list')
})
