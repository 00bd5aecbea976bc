import { readdirSync } from 'node:fs'
import t from 'tap'
import { migrate } from '../../src/database/migrations.ts'
import { createDatabase, query, silent } from '../support/database.ts'

t.test('migrations that start at the same time run once', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  await Promise.all([1, 2, 3].map(() => migrate(url, 5000, silent)))
  const all = readdirSync('migrations')
    .sort()
    .map((file) => ({ name: file.replace('.sql', '') }))
  t.same(await query(url, 'SELECT name FROM pgmigrations ORDER BY id'), all)
})

t.test('a database in another encoding is refused: it could not keep all text', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
  await t.rejects(migrate(url, 5000, silent), { message: 'The database must be encoded in UTF8, not LATIN1' })
})
