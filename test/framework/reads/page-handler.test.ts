// Pages by uuid. Those by bigint are tested in handlers/pets.test.ts.
import t from 'tap'
import { query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { get } from '../../support/requests.ts'

/** In their order. */
const ids = [
  '00000000-0000-0000-0000-000000000001',
  '0197f3c4-5a00-7000-8000-000000000001',
  '0197f3c4-5a00-7000-8000-000000000002',
  '80000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff'
]

t.test('a table whose id is a uuid is read in pages', async (t) => {
  const service = await startNotes(t)
  await query(
    service.databaseUrl,
    `INSERT INTO remarks (id, note_id, text, kind)
     SELECT unnest($1::uuid[]), 1, 'x', 'comment'`,
    [ids.toReversed()]
  )

  const pages: string[][] = []
  let link: string | undefined = '?limit=2'
  while (link !== undefined) {
    const response = await get(service, `remarks${link}`)
    t.equal(response.statusCode, 200, response.body)
    pages.push(response.json<{ id: string }[]>().map(({ id }) => id))
    const { 1: next } = /<(.+)>/.exec(String(response.headers.link)) ?? []
    link = next
  }
  t.same(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])

  for (const after of ['', 'x', '1', `${ids[0]}0`]) {
    const response = await get(service, `remarks?after=${after}`)
    const message = 'query.after must match format "uuid"'
    t.match(response.json(), { status: 400, message }, after)
  }
})
