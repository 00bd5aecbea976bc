import { once } from 'node:events'
import t from 'tap'
import {
  createDatabase,
  lockAwaited,
  lockTable,
  query
} from '../support/database.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  create,
  disconnected,
  inFlight,
  list,
  open,
  request,
  send
} from './raw.ts'

/** A request whose body does not come. */
const halfSent = (headers?: object) =>
  create('{', { ...headers, 'Content-Length': '100' })

t.test('a request that does not arrive in time gets a 408', async (t) => {
  const service = await startService(t, { config: { REQUEST_TIMEOUT_MS: 200 } })
  const responses = await Promise.all([
    send(
      await startService(t, { config: { HEADERS_TIMEOUT_MS: 200 } }),
      'GET /v1/categories HTTP/1.1\r\nHost: x\r\n'
    ),
    send(service, 'GET / HTTP/1.1\r\n'),
    send(service, halfSent())
  ])
  const error = {
    code: 'request_timeout',
    message: 'The request did not arrive in time',
    status: 408
  }
  for (const { status, body } of responses)
    t.same([status, JSON.parse(body)], [408, error])
  const rejected = await send(
    service,
    halfSent({ Authorization: 'Bearer wrong', Connection: undefined })
  )
  t.equal(
    rejected.status,
    401,
    'a rejected request cannot hold its connection either'
  )
})

t.test(
  'a connection above MAX_CONNECTIONS is closed, until another one ends',
  async (t) => {
    const service = await startService(t, { config: { MAX_CONNECTIONS: 1 } })
    const first = open(t, service)
    await first.sent
    const second = open(t, service)
    await second.closed
    t.equal(second.received(), '')
    first.socket.destroy()
    const isServed = async () => {
      const { closed, received } = open(t, service, request('GET /livez'))
      await closed
      return received() !== ''
    }
    await until(isServed, 'there is room for another connection')
  }
)

t.test('clients of a list of 16 MB', async (t) => {
  const databaseUrl = await createDatabase(t)
  const rows = "SELECT n, repeat('x', 2000) FROM generate_series(1, 8000) n"
  await query(databaseUrl, `INSERT INTO categories (name, description) ${rows}`)
  const isComplete = (received: string) =>
    received.length > 16_000_000 && received.endsWith('}]')

  t.test('one that reads slowly but steadily gets all of it', async (t) => {
    const limit = 2000
    const service = await startService(t, {
      databaseUrl,
      config: { SEND_TIMEOUT_MS: limit }
    })
    const started = performance.now()
    const { socket, closed, received } = open(t, service, list())
    // Of 64 KiB at most: 0.5 s for 2 MiB.
    socket.on('data', () => {
      socket.pause()
      setTimeout(() => socket.resume(), 15)
    })
    await closed
    t.ok(isComplete(received()))
    t.ok(
      performance.now() - started > limit,
      'it took longer than a client has for a chunk'
    )
  })

  for (const limit of ['SEND_TIMEOUT_MS', 'IDLE_TIMEOUT_MS']) {
    t.test(
      `one that stops reading is disconnected after ${limit}`,
      async (t) => {
        const service = await startService(t, {
          databaseUrl,
          config: { [limit]: 500 }
        })
        const handled = once(service.app.server, 'request')
        const { socket, received } = open(t, service, list())
        socket.pause()
        await handled
        await disconnected(service)
        t.notOk(isComplete(received()))
      }
    )
  }

  t.test(
    'one that reads it during the shutdown gets all of it, and its connection closes',
    async (t) => {
      const day = 86_400_000
      const config = {
        SHUTDOWN_TIMEOUT_MS: day,
        KEEP_ALIVE_TIMEOUT_MS: day,
        IDLE_TIMEOUT_MS: day
      }
      const service = await startService(t, { databaseUrl, config })
      const { socket, responded, received } = open(
        t,
        service,
        list({ Connection: undefined })
      )
      await responded
      socket.pause()
      const closing = service.app.close()
      await until(() => !service.app.server.listening, 'the shutdown begins')
      socket.resume()
      await until(() => socket.closed, 'its connection closes')
      await closing
      t.ok(isComplete(received()))
    }
  )

  t.test(
    'shutdown closes idle and incomplete requests at once, and waits for the others',
    async (t) => {
      const service = await startService(t, {
        databaseUrl,
        config: { SHUTDOWN_TIMEOUT_MS: 3000, METRICS_PORT: 0 }
      })
      const assets = request('GET /docs/static/swagger-ui-bundle.js', {
        Connection: undefined
      }).repeat(20)
      const idle = ['', 'GET /livez HTT', 'GET /livez HTTP/1.1\r\nHos'].map(
        (text) => open(t, service, text)
      )
      const stuck = [halfSent(), list(), assets].map((text) =>
        open(t, service, text).socket.pause()
      )
      await until(
        async () => (await inFlight()) === stuck.length,
        'those with headers are handled'
      )
      const lock = await lockTable(t, databaseUrl, 'messages')
      const message = send(
        service,
        request('POST /v1/messages', {}, '{"message":"x"}')
      )
      await lockAwaited(databaseUrl)
      const closing = service.app.close()
      await Promise.all(idle.map(({ closed }) => closed))
      await lock.release()
      t.equal((await message).status, 202)
      await closing
    }
  )
  t.end()
})
