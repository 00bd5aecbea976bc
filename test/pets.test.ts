import t from 'tap'
import { query } from './support/database.ts'
import { get, idempotencyKey, post } from './support/requests.ts'
import { startService } from './support/service.ts'

const service = await startService(t)
const run = (sql: string) => query(service.databaseUrl, sql)
t.beforeEach(() =>
  run(
    `TRUNCATE categories RESTART IDENTITY CASCADE;
     INSERT INTO categories (name) VALUES ('Dog'), ('Cat')`
  )
)

t.test('a created pet is listed, and found by its id', async (t) => {
  // The largest id.
  const id = Number.MAX_SAFE_INTEGER
  await run(`ALTER SEQUENCE pets_id_seq RESTART ${id}`)
  const input = { name: 'Bella', categoryId: 2 }
  const bella = { id, ...input, status: 'available' }
  for (const replayed of [undefined, 'true']) {
    const created = await post(service, 'pets', input, idempotencyKey('bella'))
    t.same(created.json(), bella)
    t.equal(created.headers['idempotent-replayed'], replayed)
  }
  t.same((await get(service, `pets/${id}`)).json(), bella)
  t.same((await get(service, 'pets')).json(), [bella])
})

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

t.test('pages have each pet of a filter once, ordered by id', async (t) => {
  await run(
    `INSERT INTO pets (name, category_id, status)
     SELECT n, 1, CASE WHEN n % 3 = 0 THEN 'sold' ELSE 'available' END
     FROM generate_series(1, 45) AS n`
  )
  const all = Array.from({ length: 45 }, (_, index) => index + 1)
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
  t.same(await readPages('?status=pending'), [[]])
})
