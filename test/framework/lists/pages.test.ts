import t, { type Test } from 'tap'
import { pageReader } from '../../../src/framework/lists/pages.ts'
import { rowJson } from '../../../src/framework/openapi/json.ts'
import { sql } from '../../../src/framework/postgres/sql.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { get } from '../../support/requests.ts'

type IdType = 'bigint' | 'uuid'

/** Five ids of each type, in their order, and a cursor of another type. */
const cases: Record<IdType, { ids: string[]; foreign: string }> = {
  bigint: {
    ids: [
      '-9223372036854775807',
      '-1',
      '0',
      '9007199254740993',
      '9223372036854775807'
    ],
    foreign: 'MDE5N2YzYzQtNWEwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAx'
  },
  uuid: {
    ids: [
      '00000000-0000-0000-0000-000000000001',
      '0197f3c4-5a00-7000-8000-000000000001',
      '0197f3c4-5a00-7000-8000-000000000002',
      '80000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff'
    ],
    foreign: 'MQ'
  }
}

/** Reads pages of a table of things, whose ids were stored in reverse. */
async function readerOfThings(t: Test, idType: IdType, ids: string[]) {
  const databaseUrl = await createDatabase(t)
  await query(databaseUrl, `CREATE TABLE things (id ${idType} PRIMARY KEY)`)
  await query(
    databaseUrl,
    `INSERT INTO things SELECT unnest($1::text[])::${idType}`,
    [ids.toReversed()]
  )

  return pageReader(openDatabase(t, databaseUrl), {
    name: 'pages-of-things',
    idType,
    filterTypes: {},
    statement: sql`
      SELECT *
      FROM things
      WHERE id > input.after
      ORDER BY id
      LIMIT input.size + 1
    `,
    json: rowJson<{ id: string }>('to_json(id::text)::text', ['id'])
  })
}

for (const [idType, { ids, foreign }] of Object.entries(cases)) {
  t.test(`a table whose id is a ${idType} is read in pages`, async (t) => {
    const read = await readerOfThings(t, idType as IdType, ids)
    const pages: unknown[] = []

    let cursor: string | undefined
    do {
      const page = await read({}, { cursor, size: 2 })
      pages.push(JSON.parse(page.items.toString()))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    t.same(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])

    for (const wrong of ['', 'x', '!', foreign]) {
      await t.rejects(
        read({}, { cursor: wrong, size: 2 }),
        { message: /^query.cursor must be taken from the Link header/ },
        wrong
      )
    }
  })
}

t.test('a cursor of another list gets 400', async (t) => {
  const service = await startNotes(t)
  const { statusCode } = await get(
    service,
    `remarks?cursor=${cases.bigint.foreign.slice(2)}`
  )
  t.equal(statusCode, 400)
})
