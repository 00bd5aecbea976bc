import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { makeKey } from '../../src/keys/key.ts'
import { createDatabase, lockAwaited, lockTable, query } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'

/** A way to Postgres that a test can cut, at once or when bytes pass that it waits for, or on which answers get lost. */
async function cuttable(t: Test, databaseUrl: string) {
  const target = new URL(databaseUrl)
  const socketFolder = target.searchParams.get('host')
  const port = Number(target.port || 5432)
  const pairs = new Set<[Socket, Socket]>()
  const state = { isClosed: false, isSilent: false, cutOnAnswer: '' }
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }
  const server = createServer((client) => {
    if (state.isClosed) {
      client.destroy()
      return
    }
    const upstream =
      socketFolder === null ? connect(port, target.hostname) : connect(`${socketFolder}/.s.PGSQL.${port}`)
    const pair: [Socket, Socket] = [client, upstream]
    pairs.add(pair)
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      if (state.cutOnAnswer !== '' && chunk.includes(state.cutOnAnswer)) cut()
      else if (!state.isSilent) client.write(chunk)
    })
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        for (const one of pair) one.destroy()
        pairs.delete(pair)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    cut()
    server.close()
  })
  const url = new URL(databaseUrl)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return { url: url.href, state, cut }
}

const create = ({ app, auth }: Service, name = 'x') =>
  app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name } })
const list = ({ app, auth }: Service) => app.inject({ url: '/v1/categories', headers: auth })

const unavailable = {
  code: 'unavailable',
  message: 'The service is unavailable for the moment and the request had no effect; send it again after Retry-After',
  status: 503
}
const unknown = {
  code: 'outcome_unknown',
  message:
    'The connection to the database was lost and the request may have taken effect; look before you send it again',
  status: 503
}

t.test('a database that cannot be reached is a 503 with Retry-After, and the service recovers by itself', async (t) => {
  const way = await cuttable(t, await createDatabase(t))
  const service = await startService(t, { databaseUrl: way.url })
  t.equal((await create(service)).statusCode, 201)
  way.state.isClosed = true
  way.cut()
  await new Promise(setImmediate)
  for (const request of [list, create]) {
    const response = await request(service)
    t.equal(response.statusCode, 503)
    t.same(response.json(), unavailable)
    t.equal(response.headers['retry-after'], '1')
  }
  way.state.isClosed = false
  const response = await list(service)
  t.equal(response.statusCode, 200)
  t.equal(response.json<unknown[]>().length, 1)
})

t.test(
  'a connection that is lost at the commit is a 503 outcome_unknown without Retry-After, and nothing is sent twice',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const way = await cuttable(t, databaseUrl)
    const service = await startService(t, { databaseUrl: way.url })
    await create(service, 'first')
    way.state.cutOnAnswer = 'second'
    const response = await create(service, 'second')
    t.equal(response.statusCode, 503)
    t.same(response.json(), unknown)
    t.equal(response.headers['retry-after'], undefined)
    t.same(await query(databaseUrl, 'SELECT name FROM categories ORDER BY id'), [{ name: 'first' }, { name: 'second' }])
  }
)

t.test('a connection that is lost at the commit of several creates leaves the outcome of each unknown', async (t) => {
  const databaseUrl = await createDatabase(t)
  const way = await cuttable(t, databaseUrl)
  const service = await startService(t, { databaseUrl: way.url })
  await create(service, 'first')
  way.state.cutOnAnswer = 'name 2'
  const names = Array.from({ length: 5 }, (_, index) => `name ${index}`)
  for (const response of await Promise.all(names.map((name) => create(service, name)))) {
    t.equal(response.statusCode, 503)
    t.same(response.json(), unknown)
    t.equal(response.headers['retry-after'], undefined)
  }
  t.same(
    await query(databaseUrl, 'SELECT name FROM categories ORDER BY id'),
    ['first', ...names].map((name) => ({ name }))
  )
})

t.test('a connection that is lost in a read is a 503 unavailable', async (t) => {
  const way = await cuttable(t, await createDatabase(t))
  const service = await startService(t, { databaseUrl: way.url })
  await create(service)
  way.state.cutOnAnswer = 'SELECT 1'
  const response = await list(service)
  t.equal(response.statusCode, 503)
  t.same(response.json(), unavailable)
})

t.test('a key that cannot be looked up is a 503 and not a 401', async (t) => {
  const way = await cuttable(t, await createDatabase(t))
  const { app } = await startService(t, { databaseUrl: way.url })
  way.state.isClosed = true
  way.cut()
  const headers = { authorization: `Bearer ${makeKey()}` }
  const response = await app.inject({ url: '/v1/categories', headers })
  t.equal(response.statusCode, 503)
  t.same(response.json(), unavailable)
})

t.test('a create that Postgres ended before its commit is a 503 unavailable: it can be sent again', async (t) => {
  const databaseUrl = await createDatabase(t)
  const service = await startService(t, { databaseUrl })
  await create(service, 'first')
  await lockTable(t, databaseUrl, 'categories')
  const response = create(service, 'second')
  await lockAwaited(databaseUrl, { terminate: true })
  t.equal((await response).statusCode, 503)
  t.same((await response).json(), unavailable)
})

t.test('a statement that takes too long is ended by the server: a 503 unavailable', async (t) => {
  const databaseUrl = await createDatabase(t)
  const service = await startService(t, { databaseUrl, config: { DATABASE_TIMEOUT: 1000 } })
  const lock = await lockTable(t, databaseUrl, 'categories')
  for (const request of [create, list]) {
    const response = await request(service)
    t.equal(response.statusCode, 503)
    t.same(response.json(), unavailable)
  }
  await lock.release()
  t.equal((await list(service)).body, '[]')
})

t.test(
  'a server that has gone without a word: a read can be sent again, the outcome of a create is unknown',
  async (t) => {
    const way = await cuttable(t, await createDatabase(t))
    const service = await startService(t, { databaseUrl: way.url, config: { DATABASE_TIMEOUT: 1000 } })
    // Each has a connection of its own to lose.
    await Promise.all([list(service), create(service)])
    way.state.isSilent = true
    const answers = await Promise.all([list(service), create(service)])
    t.same(
      answers.map((answer) => answer.json<unknown>()),
      [unavailable, unknown]
    )
    way.state.isSilent = false
    t.equal((await list(service)).statusCode, 200)
  }
)
