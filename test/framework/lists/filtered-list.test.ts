// Lists on a table of this test alone, whose key is a uuid named `sku`.
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import {
  filteredListOperation,
  listOperation
} from '../../../src/framework/lists/list-operation.ts'
import { ResponseMemory } from '../../../src/framework/lists/response-memory.ts'
import { rowJson } from '../../../src/framework/openapi/json.ts'
import { Database } from '../../../src/framework/postgres/database.ts'
import { createDatabase, query, silent } from '../../support/database.ts'
import { asHandler } from '../../support/handlers.ts'

interface Part {
  sku: string
  name: string
  color: string
}

const Part = rowJson<Part>(
  `'{"sku":' || to_json(sku)::text
  || ',"name":' || to_json(name)::text
  || ',"color":' || to_json(color)::text
  || '}'`,
  ['sku', 'name', 'color']
)

const parts = { table: 'parts', orderColumn: 'sku', json: Part }

const filters = {
  name: (placeholder: string) => `starts_with(name, ${placeholder})`,
  color: (placeholder: string) => `color = ANY (${placeholder})`
}

const createParts = `
  CREATE TABLE parts (
    sku uuid PRIMARY KEY,
    name text NOT NULL,
    color text NOT NULL
  );
  CALL record_changes_of('parts');
  INSERT INTO parts
  SELECT
    md5(n::text)::uuid,
    'part ' || n,
    (ARRAY['red', 'green', 'blue'])[1 + n % 3]
  FROM generate_series(1, 2500) AS n
`

const config = { MAX_DATABASE_CONNECTIONS: 4, DATABASE_TIMEOUT_MS: 5000 }

/** Counts the statements that read pages and versions. */
class CountingDatabase extends Database {
  pages = 0
  checks = 0

  override read: Database['read'] = (statement) => {
    if (statement.name?.includes('piece-of-parts')) this.pages++
    if (statement.name === 'table-version') this.checks++
    return super.read(statement)
  }
}

/** Serves all parts at /all and /sorted, and those of a filter at /parts. */
async function start(t: Test, memoryLimit = 2 ** 26) {
  const url = await createDatabase(t)
  await query(url, createParts)
  const database = new CountingDatabase(url, config, silent)
  const memory = new ResponseMemory(memoryLimit, 10_000)

  const all = listOperation(database, memory, parts)
  const sorted = listOperation(database, memory, {
    ...parts,
    name: 'sorted-parts',
    orderColumn: 'name'
  })

  const some = filteredListOperation(database, memory, { ...parts, filters })
  const app = Fastify()
  app.get('/all', asHandler(all))
  app.get('/sorted', asHandler(sorted))
  app.get('/parts', asHandler(some))
  t.teardown(() => app.close())
  t.teardown(() => database.close())

  const getParts = (path: string, headers = {}) =>
    app.inject({ url: path, headers })
  const names = async (path: string) =>
    (await getParts(path)).json<Part[]>().map(({ name }) => name)
  const stored = async (condition: string) => {
    const sql = `SELECT name FROM parts WHERE ${condition} ORDER BY sku`
    return (await query(url, sql)).map(({ name }) => name)
  }

  return { url, database, getParts, names, stored }
}

t.test('a table whose key is a uuid is listed in pages', async (t) => {
  const { names, stored, database } = await start(t)

  t.same(await names('/all'), await stored('true'))
  t.equal(database.pages, 3)
})

t.test(
  'a second list of a table, with a name, has its own order',
  async (t) => {
    const { names } = await start(t)
    const sorted = await names('/sorted')

    t.equal(sorted.length, 2500)
    t.same(new Set(sorted), new Set(await names('/all')))
    t.not(sorted[0], (await names('/all'))[0])
  }
)

t.test('each parameter selects rows, and none selects all', async (t) => {
  const { names, stored } = await start(t)
  const cases = {
    '/parts': 'true',
    '/parts?name=part 24': "starts_with(name, 'part 24')",
    '/parts?color=red&color=blue': "color IN ('red', 'blue')",
    '/parts?color=red&color=green&name=part 1':
      "color IN ('red', 'green') AND starts_with(name, 'part 1')",
    '/parts?name=none': 'false'
  }

  for (const [path, condition] of Object.entries(cases))
    t.same(await names(path), await stored(condition), path)
})

t.test(
  'a filtered list has an ETag, and is read once until the table changes',
  async (t) => {
    const { url, database, getParts } = await start(t)
    const path = '/parts?name=part 2'
    const { etag } = (await getParts(path)).headers
    const readsBefore = database.pages

    const unchanged = await getParts(path, { 'if-none-match': etag })
    t.equal(unchanged.statusCode, 304)
    const compressed = await getParts(path, { 'accept-encoding': 'br' })
    t.equal(compressed.headers['content-encoding'], 'br')
    t.equal(database.pages, readsBefore)

    const other = await getParts('/parts?name=part 3', {
      'if-none-match': etag
    })
    t.equal(other.statusCode, 200)
    t.not(other.headers.etag, etag)

    await query(url, "DELETE FROM parts WHERE name = 'part 2'")
    const changed = await getParts(path, { 'if-none-match': etag })
    t.equal(changed.statusCode, 200)
    t.notMatch(changed.body, '"part 2"')
  }
)

t.test('each of many lists shows the changes before its request', async (t) => {
  const { url, names, stored } = await start(t)
  const paths = Array.from({ length: 20 }, (_, n) => `/parts?name=part ${n}`)

  for (const round of [1, 2, 3]) {
    await query(url, `UPDATE parts SET name = name || '.${round}'`)
    const lists = await Promise.all(paths.map(names))
    for (const [n, list] of lists.entries())
      t.same(list, await stored(`starts_with(name, 'part ${n}')`))
  }
})

t.test('requests for several lists share the check', async (t) => {
  const { names, database } = await start(t)
  const paths = Array.from({ length: 20 }, (_, n) => `/parts?name=part ${n}`)
  await Promise.all(paths.map(names))
  database.checks = 0

  await Promise.all(paths.map(names))
  t.ok(database.checks < 20, `${database.checks} checks`)
})

t.test('lists beyond the memory are forgotten, and read again', async (t) => {
  // Half of it for kept lists: not enough for two of them.
  const { names, database } = await start(t, 200_000)
  const first = '/parts?name=part 1'
  const list = await names(first)
  const readsOfOne = database.pages
  await names('/parts?name=part 2')

  database.pages = 0
  t.same(await names(first), list)
  t.equal(database.pages, readsOfOne)
})

t.test('names of statements that PostgreSQL confuses fail the start', (t) => {
  const database = new Database('postgres://127.0.0.1', config, silent)
  const memory = new ResponseMemory(1, 1)
  const listBy = (name: string, condition: string, others = {}) =>
    filteredListOperation(database, memory, {
      ...parts,
      filters: { [name]: () => condition, ...others }
    })

  listBy('color', 'true')
  t.throws(() => listBy('color', 'false'), {
    message:
      'two operations have different statements called ' +
      'piece-of-parts-by-color: give one of them another name, as in name: …'
  })
  // Only the requests that have a color and no name have its statements.
  t.throws(() => listBy('color', 'false', { name: () => 'true' }), {
    message: /have different statements called piece-of-parts-by-color:/
  })
  t.throws(() => listBy('x'.repeat(50), 'true'), {
    message: /^the name of a statement has over 63 bytes: /
  })
  t.end()
})

t.test('a list with more than four filters fails the start', (t) => {
  const database = new Database('postgres://127.0.0.1', config, silent)
  const memory = new ResponseMemory(1, 1)
  const names = ['a', 'b', 'c', 'd', 'e']
  const filtersOf = (count: number) =>
    Object.fromEntries(
      names.slice(0, count).map((name) => [name, () => 'true'])
    )
  const listBy = (count: number) =>
    filteredListOperation(database, memory, {
      ...parts,
      filters: filtersOf(count)
    })

  t.doesNotThrow(() => listBy(4))
  t.throws(() => listBy(5), {
    message: 'a list of parts has more than 4 filters'
  })
  t.end()
})
