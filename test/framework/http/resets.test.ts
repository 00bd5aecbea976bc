// Clients that leave at any moment.
import { readdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { sample } from '../../support/metrics.ts'
import { listNotes, startNotes } from '../../support/notes.ts'
import { until } from '../../support/until.ts'
import {
  anonymous,
  asset,
  createRequest,
  disconnected,
  fillNotes,
  getRequest,
  keepAlive,
  listRequest,
  openConnection,
  request
} from './raw-requests.ts'

const getList = listRequest(keepAlive)

const service = await startNotes(t, {
  config: {
    METRICS_PORT: 0,
    REQUEST_TIMEOUT_MS: 1000
  }
})
await fillNotes(service)

/** Requests of every kind that a client can leave. */
const requests = [
  // The beginning of TLS.
  '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
  'GET /livez HTTP/1.1\r\nHost: x\r\nX-Y',
  request('CONNECT a:1', anonymous),
  getRequest('/', { Connection: 'Upgrade', Upgrade: 'h2c' }),
  createRequest('{"na', { ...anonymous, 'Content-Length': '100' }),
  createRequest('5\r\n{"nam\r\n', {
    ...keepAlive,
    'Content-Length': undefined,
    'Transfer-Encoding': 'chunked'
  }),
  createRequest('x'.repeat(900_000), keepAlive),
  createRequest('', { Expect: '100-continue', 'Content-Length': '12' }),
  createRequest('{"name":"x"}', keepAlive),
  getList,
  getList.repeat(20),
  listRequest({ ...keepAlive, 'Accept-Encoding': 'br' }),
  getRequest(asset, { 'Accept-Encoding': 'br' })
]

const reset = (socket: Socket) => socket.resetAndDestroy()

const waysToLeave = [
  reset,
  (socket: Socket) => socket.resume().end(),
  (socket: Socket) => socket.end(() => socket.resetAndDestroy())
]

/** Sends bytes, waits for the response if there is one, and leaves. */
async function visit(
  t: Test,
  bytes: string,
  leave: (socket: Socket) => unknown,
  awaitsResponse = false
) {
  const client = openConnection(t, service, bytes)
  await client.sent
  if (awaitsResponse) await Promise.race([client.responded, client.closed])
  leave(client.socket)
  await client.closed
}

/** Checks that nothing is left of clients that have gone. */
async function recovers(t: Test) {
  await disconnected(service)
  const isIdle = async () =>
    (await sample(service.app, 'http_requests_in_flight')) === 0
  await until(isIdle, 'no request is in flight')
  const list = (await listNotes(service)).json<unknown[]>()
  t.ok(list.length >= 5000, 'others are served')
}

t.test('clients that leave at any stage leave nothing behind', async (t) => {
  const visits = requests.flatMap((bytes) =>
    waysToLeave.flatMap((leave) => [
      visit(t, bytes.slice(0, bytes.length / 2), leave),
      visit(t, bytes, leave),
      visit(t, bytes, leave, true)
    ])
  )
  await Promise.all(visits)
  await recovers(t)
})

const openFiles = () => readdirSync('/dev/fd').length

t.test('pipelined requests of clients that reset are released', async (t) => {
  const before = openFiles()

  const visits = [getRequest(asset), getList].flatMap((one) =>
    Array.from({ length: 50 }, () => visit(t, one.repeat(20), reset, true))
  )
  await Promise.all(visits)

  await recovers(t)
  // The pool may have opened its connections meanwhile.
  await until(() => openFiles() <= before + 10, 'files are closed')
})
