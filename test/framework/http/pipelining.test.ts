// A connection handles one request at a time.
import { once } from 'node:events'
import t from 'tap'
import { lockAwaited, lockTable, query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { parseRaw, type Service } from '../../support/service.ts'
import {
  anonymous,
  createRequest,
  disconnected,
  fillNotes,
  getRequest,
  keepAlive,
  listRequest,
  openConnection,
  request
} from './raw-requests.ts'

const createOne = createRequest('{"name":"x"}', keepAlive)
const connectTo = request('CONNECT a:1', anonymous)
const garbage = '\0\0\0\0'

/** How many notes are stored. */
const stored = async ({ databaseUrl }: Service) =>
  (await query(databaseUrl, 'SELECT FROM notes')).length

t.test('nothing behind a request is handled', async (t) => {
  const service = await startNotes(t)
  const upgrade = getRequest('/livez', {
    Connection: 'Upgrade',
    Upgrade: 'h2c'
  })
  // A request in a body must not be taken for one.
  const body = createOne.replace('$KEY', service.key)
  const firstRequests: [status: number, bytes: string][] = [
    [200, getRequest('/livez')],
    [200, upgrade],
    [200, upgrade + request('POST /none', anonymous, body)],
    [302, getRequest('/')],
    [404, getRequest('/none')],
    [405, request('TRACE /', keepAlive)],
    [400, garbage],
    [400, connectTo]
  ]
  for (const [status, first] of firstRequests) {
    const bytes = first + createOne.repeat(20)
    const { closed, statuses } = openConnection(t, service, bytes)
    await closed
    t.same(statuses(), [status], first)
  }

  t.equal(await stored(service), 0)
})

/** Bytes behind a request, and the event by which the server notices them. */
const followers = {
  'a request': { bytes: createOne, event: 'request' },
  'half of the headers': {
    bytes: createOne.slice(0, 30),
    event: 'clientError'
  },
  'half of the body': { bytes: createOne.slice(0, -5), event: 'clientError' },
  garbage: { bytes: garbage, event: 'clientError' },
  'a CONNECT': { bytes: connectTo, event: 'connect' }
}

const timeouts = { HEADERS_TIMEOUT_MS: 500, REQUEST_TIMEOUT_MS: 500 }

for (const [title, { bytes, event }] of Object.entries(followers)) {
  t.test(`${title} behind a create is not handled`, async (t) => {
    const service = await startNotes(t, { config: timeouts })
    const { databaseUrl, app } = service

    for (const isInOnePacket of [true, false]) {
      const lock = await lockTable(t, databaseUrl, 'notes')
      const first = isInOnePacket ? createOne + bytes : createOne
      const client = openConnection(t, service, first)
      let noticed = once(app.server, event)
      await lockAwaited(databaseUrl)
      if (!isInOnePacket) {
        noticed = once(app.server, event)
        client.write(bytes)
      }
      await noticed
      client.write(createOne)
      await lock.release()
      await client.closed

      t.same(client.statuses(), [201])
      t.equal(parseRaw(client.received()).headers['connection'], 'close')
    }
    t.equal(await stored(service), 2)
  })
}

t.test(
  'a faulty body has one response while its key is looked up',
  async (t) => {
    const service = await startNotes(t)
    const lock = await lockTable(t, service.databaseUrl, 'api_keys')
    const chunked = {
      'Content-Length': undefined,
      'Transfer-Encoding': 'chunked'
    }
    const faulty = createRequest(garbage, chunked)
    const { closed, statuses } = openConnection(t, service, faulty)
    await once(service.app.server, 'clientError')
    await lockAwaited(service.databaseUrl)
    await lock.release()
    await closed

    t.same(statuses(), [400])
  }
)

t.test('a client that goes on sending gets the whole response', async (t) => {
  const service = await startNotes(t)
  await fillNotes(service)
  for (const { bytes, event } of Object.values(followers).slice(-2)) {
    const { socket, write, responded, closed, statuses, received } =
      openConnection(t, service, listRequest(keepAlive))
    await responded
    socket.pause()
    const noticed = once(service.app.server, event)
    write(bytes)
    await noticed
    write('x'.repeat(2_000_000))
    socket.resume()
    await closed

    t.same(statuses(), [200])
    const { headers, body } = parseRaw(received())
    t.equal(body.length, Number(headers['content-length']))
  }
})

t.test('a connection with thousands of requests is closed', async (t) => {
  const service = await startNotes(t)
  const tiny = 'GET / HTTP/1.1\r\nHost:\r\n\r\n'
  openConnection(t, service, tiny.repeat(2600))
  await once(service.app.server, 'connection')
  await disconnected(service)
})
