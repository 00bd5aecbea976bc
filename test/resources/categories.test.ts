import t, { type Test } from 'tap'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { handled, type Service, startService } from '../support/service.ts'

t.test('a created category is in the list, with the id that the service assigned', async (t) => {
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

t.test('a category distinguishes an empty description from none', async (t) => {
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

t.test('the list is ordered by id, and ids are exact up to 2^63-1', async (t) => {
  const { app, auth, databaseUrl } = await startService(t)
  const ids = ['9223372036854775807', '9007199254740993', '3']
  for (const id of ids) await query(databaseUrl, 'INSERT INTO categories (id, name) VALUES ($1, $2)', [id, id])
  const { body } = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(
    body,
    '[{"id":3,"name":"3"},{"id":9007199254740993,"name":"9007199254740993"},{"id":9223372036854775807,"name":"9223372036854775807"}]'
  )
})

t.test('text is returned unchanged', async (t) => {
  const { app, auth } = await startService(t)
  const texts = [
    ' a ',
    'e\u0301',
    'é',
    '🐇',
    '👩‍👩‍👧',
    '\u0001\u007f\b\f\r\t\n\u2028',
    '\ufeffx',
    '﷽',
    "'; DROP TABLE categories; --",
    '\\"</script>',
    '𐀀'.repeat(255)
  ]
  for (const name of texts) {
    const payload = { name, description: name }
    const created = await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload })
    t.match(created.json(), payload)
  }
  const list = await app.inject({ url: '/v1/categories', headers: auth })
  t.strictSame(
    list.json(),
    texts.map((name, index) => ({ id: index + 1, name, description: name }))
  )
})

/** Sends creates in this order while the table is locked and one create waits for it, and returns their responses. */
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

t.test('creates that arrive together are written by one statement, in their order', async (t) => {
  let writes = 0
  const service = await startService(t, {
    onStatement: (name) => {
      if (name === 'create-categories') writes++
    }
  })
  const names = Array.from({ length: 100 }, (_, index) => `name ${index % 10}`)
  const responses = await createTogether(t, service, names)
  t.equal(writes, 2)
  t.same(
    responses.map((response) => response.json<object>()),
    names.map((name, index) => ({ id: index + 2, name }))
  )
})

t.test('a category that PostgreSQL rejects fails alone', async (t) => {
  const service = await startService(t)
  await query(service.databaseUrl, "ALTER TABLE categories ADD CHECK (name <> 'rejected')")
  const names = Array.from({ length: 20 }, (_, index) => (index % 7 === 3 ? 'rejected' : `name ${index}`))
  const responses = await createTogether(t, service, names)
  t.same(
    responses.map(({ statusCode }) => statusCode),
    names.map((name) => (name === 'rejected' ? 500 : 201))
  )
  t.same(
    await query(service.databaseUrl, 'SELECT name FROM categories ORDER BY id'),
    ['first', ...names.filter((name) => name !== 'rejected')].map((name) => ({ name }))
  )
})

t.test('creates beyond the queue get 503 with Retry-After at once, and those in the queue are stored', async (t) => {
  const service = await startService(t, { config: { DATABASE_TIMEOUT: 60_000 } })
  const names = Array.from({ length: 1100 }, (_, index) => `name ${index}`)
  const responses = await createTogether(t, service, names)
  const stored = responses.filter(({ statusCode }) => statusCode === 201)
  const rejected = responses.filter(({ statusCode }) => statusCode === 503)
  t.equal(stored.length, 1000)
  t.equal(rejected.length, 100)
  t.match(rejected[0]?.headers, { 'retry-after': '1', 'cache-control': 'no-store' })
  t.match(rejected[0]?.json(), { code: 'unavailable', message: /requests are waiting/ })
  t.match(await query(service.databaseUrl, 'SELECT count(*) FROM categories'), [{ count: '1001' }])
})

t.test('a category that a database trigger drops is an error', async (t) => {
  const { app, auth, databaseUrl } = await startService(t)
  await query(databaseUrl, "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
  await query(databaseUrl, 'CREATE TRIGGER skip BEFORE INSERT ON categories FOR EACH ROW EXECUTE FUNCTION skip()')
  const response = await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name: 'x' } })
  t.equal(response.statusCode, 500)
})
