import t from 'tap'
import { createRoles } from '../support/database.ts'
import { call, script } from '../support/process.ts'

const { owner, service: seeded } = await createRoles(t)

t.test('`npm run seed` adds the data of the examples once', async (t) => {
  const seed = (url: string) =>
    call(t, script('tools/seed.ts'), { env: { DATABASE_URL: url } })

  t.same(await seed(seeded), {
    code: 1,
    output:
      'pet-categories: the database is unavailable: ' +
      'permission denied for table orders\n'
  })
  t.same(await seed(owner), {
    code: 0,
    output: 'Added 4 categories, 3 pets and 2 orders.\n'
  })
  t.same(await seed(owner), {
    code: 0,
    output: 'Nothing was added: the database has pets.\n'
  })
})
