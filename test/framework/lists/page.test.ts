import t, { type Test } from 'tap'
import { pageReader } from '../../../src/framework/lists/page.ts'
import {
  cursorAfter,
  orderValueBefore,
  type OrderType
} from '../../../src/framework/lists/paging.ts'
import { rowJson } from '../../../src/framework/openapi/json.ts'
import type { Database } from '../../../src/framework/postgres/database.ts'
import { sql } from '../../../src/framework/postgres/sql.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { get } from '../../support/requests.ts'

/** Five keys of each type, in their order. */
const keysByType: Record<OrderType, string[]> = {
  bigint: [
    '-9223372036854775807',
    '-1',
    '0',
    '9007199254740993',
    '9223372036854775807'
  ],
  uuid: [
    '00000000-0000-0000-0000-000000000001',
    '0197f3c4-5a00-7000-8000-000000000001',
    '0197f3c4-5a00-7000-8000-000000000002',
    '80000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff'
  ],
  text: ['-', 'A & B', 'a', 'é', '🐇']
}

const types = Object.keys(keysByType) as OrderType[]

/** A database with a table of things, whose keys were stored in reverse. */
async function createThings(t: Test, type: OrderType): Promise<string> {
  const databaseUrl = await createDatabase(t)
  const collation = type === 'text' ? 'COLLATE "C"' : ''
  await query(
    databaseUrl,
    `CREATE TABLE things (sku ${type} ${collation} PRIMARY KEY)`
  )
  await query(
    databaseUrl,
    `INSERT INTO things SELECT unnest($1::text[])::${type}`,
    [keysByType[type].toReversed()]
  )

  return databaseUrl
}

const readThings = (database: Database, orderType: OrderType) =>
  pageReader(database, {
    name: 'pages-of-things',
    orderType,
    filterTypes: {},
    statement: sql`
      SELECT *
      FROM things
      WHERE sku > input.after
      ORDER BY sku
      LIMIT input.size + 1
    `,
    json: rowJson<{ sku: string }>('to_json(sku::text)::text', ['sku']),
    orderColumn: 'sku'
  })

for (const type of types) {
  t.test(`a table whose key is a ${type} is read in pages`, async (t) => {
    const keys = keysByType[type]
    const database = openDatabase(t, await createThings(t, type))
    const read = readThings(database, type)

    let cursor: string | undefined
    for (const expected of [keys.slice(0, 2), keys.slice(2, 4)]) {
      const page = await read({}, { cursor, size: 2 })

      t.same(JSON.parse(page.items.toString()), expected)
      t.equal(page.nextCursor, cursorAfter(String(expected[1]), type))
      cursor = String(page.nextCursor)
    }

    const last = await read({}, { cursor, size: 2 })
    t.same(JSON.parse(last.items.toString()), keys.slice(4))
    t.equal(last.nextCursor, null)
  })
}

const someUuid = '0197f3c4-5a00-7000-8000-000000000001'

/** Text that no page has given out. */
const invalidCursors: Record<OrderType, string[]> = {
  bigint: ['', 'x', '!', cursorAfter(someUuid, 'uuid')],
  uuid: ['', 'x', '!', cursorAfter('1', 'bigint')],
  // Bytes that are not UTF-8, and a NUL, which PostgreSQL cannot read.
  text: ['_w', 'AA', 'YQ=', '!']
}

for (const type of types) {
  t.test(`text that is not a cursor of a ${type} is rejected`, (t) => {
    for (const cursor of invalidCursors[type]) {
      t.throws(
        () => orderValueBefore(cursor, type),
        { message: /^query.cursor must be taken from the Link header/ },
        cursor
      )
    }
    t.end()
  })
}

t.test('a cursor of another list gets 400', async (t) => {
  const service = await startNotes(t)
  const cursor = cursorAfter('1', 'bigint')

  t.equal((await get(service, `remarks?cursor=${cursor}`)).statusCode, 400)
})
