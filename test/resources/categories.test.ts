import t, { type Test } from 'tap'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { handled, type Service, startService } from '../support/service.ts'

t.test('a created category is in the list, with the id that the service gave it', async (t) => {
  const { url, auth } = await startService(t)
  const created = await fetch(`${url}/v1/categories`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Rabbit', description: 'Long ears' })
  })
  t.equal(created.status, 201)
  t.same(await created.json(), { id: 1, name: 'Rabbit', description: 'Long ears' })
  const listed = await fetch(`${url}/v1/categories`, { headers: auth })
  t.equal(listed.status, 200)
  t.same(await listed.json(), [{ id: 1, name: 'Rabbit', description: 'Long ears' }])
})

t.test('the list of no categories is an empty array', async (t) => {
  const { app, auth } = await startService(t)
  const { statusCode, body } = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(statusCode, 200)
  t.equal(body, '[]')
})

t.test('a category keeps the difference between an empty description and none', async (t) => {
  const { app, auth } = await startService(t)
  const create = (payload: object) => app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload })
  t.equal((await create({ name: 'a', description: '' })).body, '{"id":1,"name":"a","description":""}')
  t.equal((await create({ name: 'b' })).body, '{"id":2,"name":"b"}')
  const list = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(list.body, '[{"id":1,"name":"a","description":""},{"id":2,"name":"b"}]')
})

t.test('two categories may have the same name', async (t) => {
  const { app, auth } = await startService(t)
  const create = () => app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name: 'Dog' } })
  t.equal((await create()).statusCode, 201)
  t.equal((await create()).statusCode, 201)
})

t.test('the list is in the order of the ids, and an id is exact up to 2^63-1', async (t) => {
  const { app, auth, databaseUrl } = await startService(t)
  const ids = ['9223372036854775807', '9007199254740993', '3']
  for (const id of ids) await query(databaseUrl, 'INSERT INTO categories (id, name) VALUES ($1, $2)', [id, id])
  const { body } = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(
    body,
    '[{"id":3,"name":"3"},{"id":9007199254740993,"name":"9007199254740993"},{"id":9223372036854775807,"name":"9223372036854775807"}]'
  )
})

t.test('creates that come at the same time are each stored once', async (t) => {
  const { url, auth } = await startService(t)
  const names = Array.from({ length: 200 }, (_, index) => `category ${index}`)
  const created = await Promise.all(
    names.map(async (name) => {
      const response = await fetch(`${url}/v1/categories`, {
        method: 'POST',
        headers: { ...auth, 'content-type': 'application/json' },
        body: JSON.stringify({ name })
      })
      return (await response.json()) as { id: number; name: string }
    })
  )
  t.same(
    created.map(({ name }) => name),
    names
  )
  const listed = (await (await fetch(`${url}/v1/categories`, { headers: auth })).json()) as { id: number }[]
  t.equal(listed.length, names.length)
  t.same(
    listed,
    created.sort((a, b) => a.id - b.id)
  )
})

t.test('text comes back to the code point', async (t) => {
  const { app, auth } = await startService(t)
  const texts = [
    ' a ',
    'é',
    'é',
    '🐇',
    '👩‍👩‍👧',
    '\u0001\u007f\t\n',
    '\ufeffx',
    '﷽',
    "'; DROP TABLE categories; --",
    '\\',
    '𐀀'.repeat(255)
  ]
  for (const name of texts) {
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: '/v1/categories',
      headers: auth,
      payload: { name, description: name }
    })
    t.equal(statusCode, 201, JSON.stringify(name))
    t.match(JSON.parse(body), { name, description: name })
  }
})

/** Sends creates in this order, while the table is locked and one is being written, and gives their answers once it is free. */
async function createTogether(t: Test, service: Service, names: string[]) {
  const { app, auth, databaseUrl } = service
  const create = (name: string) =>
    app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name } })
  const lock = await lockTable(t, databaseUrl, 'categories')
  const first = create('first')
  await lockAwaited(databaseUrl)
  const allCame = handled(t, names.length)
  const others = names.map(create)
  await allCame
  await lock.release()
  t.equal((await first).statusCode, 201)
  return Promise.all(others)
}

t.test('creates that come together are written by one statement, in the order in which they came', async (t) => {
  let writes = 0
  const service = await startService(t, {
    onStatement: (name) => {
      if (name === 'create-categories') writes++
    }
  })
  const names = Array.from({ length: 100 }, (_, index) => `name ${index % 10}`)
  const answers = await createTogether(t, service, names)
  t.equal(writes, 2)
  t.same(
    answers.map((answer) => answer.json<object>()),
    names.map((name, index) => ({ id: index + 2, name }))
  )
})

t.test('a category that Postgres refuses fails alone', async (t) => {
  const service = await startService(t)
  await query(service.databaseUrl, "ALTER TABLE categories ADD CHECK (name <> 'refused')")
  const names = Array.from({ length: 20 }, (_, index) => (index % 7 === 3 ? 'refused' : `name ${index}`))
  const answers = await createTogether(t, service, names)
  t.same(
    answers.map(({ statusCode }) => statusCode),
    names.map((name) => (name === 'refused' ? 500 : 201))
  )
  t.same(
    await query(service.databaseUrl, 'SELECT name FROM categories ORDER BY id'),
    ['first', ...names.filter((name) => name !== 'refused')].map((name) => ({ name }))
  )
})

t.test('creates beyond what can wait are a 503 with Retry-After at once, and those that wait are stored', async (t) => {
  const service = await startService(t)
  const names = Array.from({ length: 1100 }, (_, index) => `name ${index}`)
  const answers = await createTogether(t, service, names)
  const stored = answers.filter(({ statusCode }) => statusCode === 201)
  const refused = answers.filter(({ statusCode }) => statusCode === 503)
  t.equal(stored.length, 1000)
  t.equal(refused.length, 100)
  t.match(refused[0]?.headers, { 'retry-after': '1', 'cache-control': 'no-store' })
  t.match(refused[0]?.json(), { code: 'unavailable', message: /requests are waiting/ })
  t.match(await query(service.databaseUrl, 'SELECT count(*) FROM categories'), [{ count: '1001' }])
})

t.test('a category that a trigger of the database keeps out may or may not exist', async (t) => {
  const { app, auth, databaseUrl } = await startService(t)
  await query(databaseUrl, "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
  await query(databaseUrl, 'CREATE TRIGGER skip BEFORE INSERT ON categories FOR EACH ROW EXECUTE FUNCTION skip()')
  const answer = await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name: 'x' } })
  t.equal(answer.statusCode, 503)
  t.equal(answer.json<{ code: string }>().code, 'outcome_unknown')
})
