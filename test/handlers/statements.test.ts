import { readFileSync } from 'node:fs'
import t from 'tap'
import { createDatabase, query } from '../support/database.ts'

const file = 'generated/statements.sql'

t.test(`${file} can be pasted into psql`, async (t) => {
  const databaseUrl = await createDatabase(t)

  await t.resolves(query(databaseUrl, readFileSync(file, 'utf8')))
})
