import t, { type Test } from 'tap'
import { pageReader } from '../../../src/framework/lists/pages.ts'
import { rowJson } from '../../../src/framework/openapi/json.ts'
import { sql } from '../../../src/framework/postgres/sql.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'

/** Five ids of each type, in their order, and a cursor of another type. */
const cases = {
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

type IdType = keyof typeof cases

/** Reads pages of a table of things, whose ids were stored in reverse. */
async function readerOfThings(t: Test, idType: IdType) {
  const url = await createDatabase(t)
  await query(
    url,
    `CREATE TABLE things AS
     SELECT unnest('{${cases[idType].ids.toReversed()}}'::${idType}[]) AS id`
  )

  return pageReader(openDatabase(t, url), {
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

for (const idType of ['bigint', 'uuid'] as const) {
  t.test(`a table whose id is a ${idType} is read in pages`, async (t) => {
    const read = await readerOfThings(t, idType)
    const { ids, foreign } = cases[idType]
    const pages: unknown[] = []

    let cursor: string | undefined
    do {
      const page = await read({}, { cursor, size: 2 })
      pages.push(JSON.parse(page.items.toString()))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    t.same(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])

    const message = /^query.cursor must be taken from the Link header/
    for (const wrong of ['', 'x', '!', foreign])
      await t.rejects(read({}, { cursor: wrong, size: 2 }), { message }, wrong)
  })
}
