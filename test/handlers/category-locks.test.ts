import t, { type Test } from 'tap'
import { connect, createDatabase, query } from '../support/database.ts'
import { codeOrStatus, post } from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** A service with the categories 1 and 2. */
async function start(t: Test, timeout: number) {
  const statements: string[] = []
  const service = await startService(t, {
    config: { DATABASE_TIMEOUT_MS: timeout },
    onStatement: (name) => statements.push(name)
  })

  await query(
    service.databaseUrl,
    "INSERT INTO categories (name) VALUES ('Dog'), ('Cat')"
  )

  return { ...service, statements }
}

const createPet = (
  service: Service,
  categoryId: number,
  idempotencyKey?: string
) => {
  const pet = { name: 'x', categoryId }
  const headers =
    idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }

  return codeOrStatus(post(service, 'pets', pet, headers))
}

/** Runs a statement in a transaction that stays open. */
async function hold(t: Test, { databaseUrl }: Service, statement: string) {
  const client = await connect(t, databaseUrl)
  await client.query(`BEGIN; ${statement}`)

  return {
    commit: () => client.query('COMMIT'),
    rollBack: () => client.query('ROLLBACK')
  }
}

const lockDogs = 'SELECT FROM categories WHERE id = 1 FOR UPDATE'
const deleteDogs = 'DELETE FROM categories WHERE id = 1'

const countPets = async ({ databaseUrl }: Service) =>
  (await query(databaseUrl, 'SELECT FROM pets')).length

t.test(
  'creates of other categories do not wait for one that is locked',
  async (t) => {
    const service = await start(t, 60_000)
    const lock = await hold(t, service, lockDogs)
    const settled: string[] = []

    const blocked = ['dog-1', 'dog-2', undefined].map(async (key) => {
      const status = await createPet(service, 1, key)
      settled.push('dog')
      return status
    })

    for (let round = 0; round < 5; round++) {
      const others = Array.from({ length: 20 }, (_, index) =>
        createPet(service, 2, index % 2 ? `cat-${round}-${index}` : undefined)
      )

      t.same(new Set(await Promise.all(others)), new Set([201]))
    }

    t.same(settled, [])
    await lock.commit()
    t.same(await Promise.all(blocked), [201, 201, 201])
    t.equal(await countPets(service), 103)
  }
)

t.test(
  'a pet whose category stays locked gets 503, and can be sent again',
  async (t) => {
    const service = await start(t, 1000)
    const lock = await hold(t, service, lockDogs)

    t.equal(await createPet(service, 1), 'unavailable')
    t.equal(await createPet(service, 1, 'key'), 'unavailable')
    t.equal(await countPets(service), 0)

    await lock.commit()
    t.equal(await createPet(service, 1, 'key'), 201)
    t.equal(await createPet(service, 1, 'key'), '201 replayed')
  }
)

t.test(
  'a pet whose category is deleted meanwhile gets the 400 of an unknown one',
  async (t) => {
    const service = await start(t, 60_000)
    const deletion = await hold(t, service, deleteDogs)
    const creates = [createPet(service, 1), createPet(service, 1, 'key')]

    await until(
      () =>
        service.statements.includes('create-pets') &&
        service.statements.includes('create-pets-once'),
      'both creates have met the deletion'
    )
    await deletion.commit()

    t.same(await Promise.all(creates), ['invalid_request', 'invalid_request'])
    t.equal(await countPets(service), 0)
  }
)

t.test('a pet whose category is kept after all is stored', async (t) => {
  const service = await start(t, 60_000)
  const deletion = await hold(t, service, deleteDogs)
  const create = createPet(service, 1)

  await until(
    () => service.statements.includes('create-pets'),
    'the create has met the deletion'
  )
  await deletion.rollBack()

  t.equal(await create, 201)
})

t.test(
  'a category cannot be deleted while a pet of it is being stored',
  async (t) => {
    const service = await start(t, 60_000)
    const run = (sql: string) => query(service.databaseUrl, sql)

    for (let round = 0; round < 20; round++) {
      await run(
        `INSERT INTO categories (id, name)
         VALUES (3, 'x')
         ON CONFLICT DO NOTHING`
      )

      const creates = Array.from({ length: 10 }, () => createPet(service, 3))
      // It fails if a pet of the category was stored before.
      const deletion = run('DELETE FROM categories WHERE id = 3').catch(
        () => {}
      )
      const statuses = await Promise.all(creates)
      await deletion

      const expected = new Set<string | number>([201, 'invalid_request'])
      const others = statuses.filter((status) => !expected.has(status))
      t.same(others, [])
    }
  }
)

t.test(
  'other roles cannot call the functions that have the rights of the owner',
  async (t) => {
    const rows = await query(
      await createDatabase(t),
      `
        SELECT proname AS name, has_function_privilege('public', oid, 'EXECUTE') AS "isPublic"
        FROM pg_proc
        WHERE prosecdef AND pronamespace = 'public'::regnamespace
      `
    )
    t.ok(rows.some(({ name }) => name === 'lock_categories'))

    const callable = rows.filter(({ isPublic }) => isPublic)
    t.same(callable, [])
  }
)
