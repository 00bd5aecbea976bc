// A connection handles one request at a time.
import { once } from 'node:events'
import t from 'tap'
import { lockAwaited, lockTable, query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import {
  anonymous,
  createRequest,
  disconnected,
  getRequest,
  keepAlive,
  listRequest,
  openConnection,
  request
} from './raw-requests.ts'

const createOne = createRequest('{"name":"x"}', keepAlive)
const garbage = '\0\0\0\0'

const upgrade = getRequest('/livez', { Connection: 'Upgrade', Upgrade: 'h2c' })

/** What a service receives first, and the statuses of its responses. */
const firstRequests = (
  key: string
): [bytes: string, ...statuses: number[]][] => [
  [listRequest(keepAlive)],
  [request('CONNECT a:1', anonymous)],
  [garbage, 400],
  [request('GET /livez', { Host: 'a b' }), 400],
  // A request in a body must not be taken for one.
  [
    upgrade + request('POST /none', anonymous, createOne.replace('$KEY', key)),
    200
  ]
]

t.test('nothing behind a request is handled', async (t) => {
  const service = await startNotes(t)
  for (const [first, ...expected] of firstRequests(service.key)) {
    const bytes = first + createOne.repeat(20)
    const { closed, statuses } = openConnection(t, service, bytes)
    await closed
    t.same(statuses(), expected, first)
  }

  t.same(await query(service.databaseUrl, 'SELECT FROM notes'), [])
})

t.test('bytes behind a create that waits close the connection', async (t) => {
  const service = await startNotes(t)
  for (const bytes of [createOne, createOne.slice(0, -5), garbage]) {
    const lock = await lockTable(t, service.databaseUrl, 'notes')
    const client = openConnection(t, service, createOne)
    await lockAwaited(service.databaseUrl)
    client.write(bytes)
    await client.closed
    await lock.release()

    t.same(client.statuses(), [])
  }
})

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
  const bytes = createRequest('{}', { 'Content-Length': '100000000' })
  const { write, responded, closed, statuses } = openConnection(
    t,
    service,
    bytes
  )
  await responded
  write('x'.repeat(2_000_000))
  await closed

  t.same(statuses(), [413])
})

t.test('a connection with thousands of requests is closed', async (t) => {
  const service = await startNotes(t)
  const tiny = 'GET / HTTP/1.1\r\nHost:\r\n\r\n'
  openConnection(t, service, tiny.repeat(2600))
  await once(service.app.server, 'connection')
  await disconnected(service)
})
