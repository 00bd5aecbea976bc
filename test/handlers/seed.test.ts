import t from 'tap'
import { createDatabase } from '../support/database.ts'
import { call, script } from '../support/process.ts'

t.test('`npm run seed` adds the data of the examples once', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  const seed = () => call(t, script('tools/seed.ts'), { env: { DATABASE_URL } })

  t.same(await seed(), {
    code: 0,
    output: 'Added 4 categories, 3 pets and 2 orders.\n'
  })
  t.same(await seed(), {
    code: 0,
    output: 'Nothing was added: the database has pets.\n'
  })
})
