// A body may have a property with the name of anything in the statements of
// creates, unless `npm run generate` rejects it.
import t from 'tap'
import {
  insertSql,
  idempotentParts
} from '../../src/framework/creates/insert-statement.ts'
import { type BodyColumn, RowJson } from '../../src/framework/openapi/json.ts'
import { columnsOfCreates } from '../../tools/generate/column-names.ts'
import { createDatabase, query } from '../support/database.ts'

/** The statements of a table whose body has these columns. */
const statementsFor = (names: string[]) =>
  [undefined, idempotentParts].map((parts) =>
    insertSql(
      {
        operationId: 'createThing',
        status: 201,
        table: 'things',
        newId: '1',
        bodyColumns: names.map((name): BodyColumn<Record<string, string>> => ({
          property: name,
          column: `"${name}"`,
          type: 'text'
        })),
        json: new RowJson<Record<string, string>>("'{}'")
      },
      parts
    )
  )

t.test('the columns of creates are exactly the rejected ones', async (t) => {
  const words = new Set(
    statementsFor([])
      .join(' ')
      .match(/[a-z]\w+/g)
  )
  const columns = [...words].filter((word) => word !== 'id')
  const url = await createDatabase(t)
  await query(
    url,
    `CREATE TABLE things (id bigint, ${columns.map((name) => `"${name}" text`).join()})`
  )

  const rejected: string[] = []
  for (const word of words) {
    const statements = statementsFor([word]).map((text) => `EXPLAIN ${text}`)
    const explained = statements.map((text) => query(url, text, ['[]']))
    await Promise.all(explained).catch(() => rejected.push(word))
  }
  t.same(rejected.sort(), columnsOfCreates)
})
