import t from 'tap'
import { ResponseBuffers } from '../../src/framework/reads/response-buffers.ts'
import { query } from '../support/database.ts'
import { get, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const service = await startService(t)
const run = (sql: string) => query(service.databaseUrl, sql)
t.beforeEach(() => run('TRUNCATE categories RESTART IDENTITY CASCADE'))

const maxInt64 = '9223372036854775807'

t.test(
  'a created pet is listed, and found at its Location by its exact id',
  async (t) => {
    await run(
      `INSERT INTO categories (id, name) VALUES (${maxInt64}, 'Dog');
       ALTER SEQUENCE pets_id_seq RESTART ${maxInt64}`
    )
    const input = `{"name":"Bella","categoryId":${maxInt64}}`
    const bella = `{"id":${maxInt64},"name":"Bella","categoryId":${maxInt64},"status":"available"}`
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': 'bella'
    }
    for (const replayed of [undefined, 'true']) {
      const created = await post(service, 'pets', input, headers)
      t.match(created, { statusCode: 201, body: bella })
      t.equal(created.headers['idempotent-replayed'], replayed)
      // It is relative to the URL of the request.
      const location = String(created.headers.location)
      const { href } = new URL(location, `${service.url}/v1/pets`)
      const found = await fetch(href, { headers: service.auth })
      t.equal(await found.text(), bella)
    }
    t.equal((await get(service, 'pets')).body, `[${bella}]`)
  }
)

/** Follows the links from a page of pets. Returns the ids of each page. */
async function readPages(firstQuery: string): Promise<number[][]> {
  const pages: number[][] = []
  let nextQuery: string | undefined = firstQuery
  while (nextQuery !== undefined && pages.length < 10) {
    const { headers, json } = await get(service, `pets${nextQuery}`)
    pages.push(json<{ id: number }[]>().map(({ id }) => id))
    // It is relative, so that it also holds behind a proxy.
    const next = /^<(\?.*)>; rel="next"$/.exec(String(headers.link))
    nextQuery = next?.[1]
  }

  return pages
}

t.test('pages have each pet of a filter once, ordered by id', async () => {
  await run(
    `INSERT INTO categories (name) VALUES ('Dog');
     INSERT INTO pets (name, category_id, status)
     SELECT n, 1, CASE WHEN n % 3 = 0 THEN 'sold' ELSE 'available' END
     FROM generate_series(1, 45) AS n`
  )
  const all = Array.from({ length: 45 }, (_, index) => index + 1)
  const sold = all.filter((id) => id % 3 === 0)
  const available = all.filter((id) => id % 3 !== 0)

  t.same(await readPages(''), [
    all.slice(0, 20),
    all.slice(20, 40),
    all.slice(40)
  ])
  t.same(await readPages('?limit=20&status=available'), [
    available.slice(0, 20),
    available.slice(20)
  ])
  t.same(await readPages('?limit=15&status=sold'), [sold])
  t.same(await readPages('?status=pending'), [[]])
})

t.test('pages count as buffered responses', async (t) => {
  const held = t.capture(ResponseBuffers.prototype, 'track')
  await get(service, 'pets')
  t.match(held(), [{ args: [Buffer.from('[]')] }])
})
