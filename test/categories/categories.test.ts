import t from 'tap'
import { query } from '../support/database.ts'
import { startService } from '../support/service.ts'

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
