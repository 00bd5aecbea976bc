// Creates that wait at the same time share a statement, in which no row makes
// another one fail.
import t from 'tap'
import { idempotencyHashesOf } from '../src/creates/idempotency-hashes.ts'
import {
  beginTransaction,
  closeGates,
  createDatabase,
  createGate,
  query,
  waitForGateWaiters
} from './support/database.ts'
import { successes } from './support/metrics.ts'
import {
  createCategory,
  get,
  idempotencyKey,
  listCategories,
  statusOrCode,
  post
} from './support/requests.ts'
import { startService } from './support/service.ts'

const databaseUrl = await createDatabase(t)
await createGate(databaseUrl)
const run = (sql: string) => query(databaseUrl, sql)
// A pet of a category from 10 waits at the gate of its category while the
// statement checks it, and a pet called 'storing' at gate 1 while it is stored.
await run(
  `ALTER FUNCTION try_lock_category RENAME TO original_check;
   CREATE FUNCTION try_lock_category(category_id bigint) RETURNS text
   LANGUAGE plpgsql AS '
     BEGIN
       IF category_id >= 10 THEN PERFORM gate(category_id::int); END IF;
       RETURN original_check(category_id);
     END';
   GRANT EXECUTE ON FUNCTION original_check TO PUBLIC;
   CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN PERFORM gate(1); RETURN NEW; END';
   CREATE TRIGGER wait BEFORE INSERT ON pets FOR EACH ROW
     WHEN (NEW.name = 'storing') EXECUTE FUNCTION wait();
   INSERT INTO categories (id, name)
   SELECT n, n FROM generate_series(1, 20) AS n`
)

// Two replicas.
const config = { DATABASE_TIMEOUT_MS: 60_000 }
const first = await startService(t, { databaseUrl, config })
const second = {
  ...(await startService(t, { databaseUrl, config })),
  auth: first.auth
}

/** Creates a pet with its name as Idempotency-Key, unless it is plain. */
const createPet = (service: typeof first, name: string, categoryId: number) =>
  statusOrCode(
    post(
      service,
      'pets',
      { name, categoryId },
      name.startsWith('plain') ? {} : idempotencyKey(name)
    )
  )

const lockedCategory = 2
const deletedMeanwhileCategory = 4
const deletedCategory = 5
const leaderCategory = 10
const gatedCategory = 11

/**
 * An Idempotency-Key whose row PostgreSQL checks first: it checks them in the
 * order of their hashes, and this hash begins with 0000.
 */
const keyWithLowestHash = Array.from(
  { length: 1e5 },
  (_, n) => `early-${n}`
).find((name) => {
  const [hash] =
    idempotencyHashesOf(
      {
        method: 'POST',
        routeOptions: { url: '/v1/pets' },
        headers: idempotencyKey(name),
        apiKey: { id: 1, name: 'test', scopes: null },
        body: {}
      },
      []
    ) ?? []
  return hash?.startsWith('\\x0000')
})!

/** The name and the category of each pet of the batch, and its response. */
const batch = [
  [keyWithLowestHash, gatedCategory, 201],
  ['good', 1, 201],
  ['unknown', 404, 'unknown_category'],
  ['locked', lockedCategory, 'unavailable'],
  ['deleted-meanwhile', deletedMeanwhileCategory, 'unknown_category'],
  ['replayed', 1, '201 replayed'],
  ['replayed-locked-since', lockedCategory, '201 replayed'],
  ['replayed-deleted-since', deletedCategory, '201 replayed'],
  ['reused', 6, 'idempotency_key_reused'],
  // The same as the unquoted.
  ['"good"', 1, 'idempotency_key_in_use'],
  ['storing', 1, 'idempotency_key_in_use'],
  ['stored-meanwhile', 1, 'idempotency_key_in_use'],
  ['plain-first', gatedCategory, 201],
  ['plain-unknown', 404, 'unknown_category'],
  ['plain-locked', lockedCategory, 'unavailable'],
  ['plain-deleted-meanwhile', deletedMeanwhileCategory, 'unknown_category'],
  ['plain-last', 1, 201]
] as const

t.test('no row of a batch makes another row fail', async (t) => {
  for (const [name, categoryId, expected] of batch)
    if (expected === '201 replayed' || name === 'reused')
      t.equal(
        await createPet(first, name, name === 'reused' ? 1 : categoryId),
        201
      )
  await run(
    `DELETE FROM pets WHERE category_id = ${deletedCategory};
     DELETE FROM categories WHERE id = ${deletedCategory}`
  )
  await beginTransaction(
    t,
    databaseUrl,
    `SELECT FROM categories WHERE id = ${lockedCategory} FOR UPDATE`
  )
  const gates = await closeGates(t, databaseUrl, [
    1,
    leaderCategory,
    gatedCategory
  ])

  const storing = createPet(first, 'storing', 1)
  const leaders = ['leader', 'plain-leader'].map((name) =>
    createPet(second, name, leaderCategory)
  )
  await waitForGateWaiters(databaseUrl, 3)
  const responses = batch.map(([name, categoryId]) =>
    createPet(second, name, categoryId)
  )
  // When it has a response, those that were sent before it wait.
  await get(second, 'pets')
  await gates.open(leaderCategory)
  t.same(await Promise.all(leaders), [201, 201])

  await waitForGateWaiters(databaseUrl, 3)
  await run(`DELETE FROM categories WHERE id = ${deletedMeanwhileCategory}`)
  // The creates of the others wait.
  const third = await startService(t, { databaseUrl, config })
  t.equal(
    await createPet({ ...third, auth: first.auth }, 'stored-meanwhile', 1),
    201
  )
  await gates.open(gatedCategory)
  for (const [index, [name, , expected]] of batch.entries())
    t.equal(await responses[index], expected, name)
  await gates.open(1)
  t.equal(await storing, 201)

  for (const name of ['createPet', 'createPetIdempotent'])
    t.equal(await successes(second.app, name), 2, 'a batch is one statement')
  const stored = await run('SELECT name FROM pets ORDER BY name')
  const expected = batch
    .filter(([, , one]) => one === 201)
    .map(([name]) => name)
    .concat('leader', 'plain-leader', 'reused', 'replayed')
    .concat('replayed-locked-since', 'stored-meanwhile', 'storing')
  t.same(
    stored.map(({ name }) => name),
    expected.sort()
  )
})

t.test('a row that a trigger drops rejects its batch', async (t) => {
  await run(
    `TRUNCATE categories CASCADE;
     CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF NEW.name = 'bad' THEN RETURN NULL; END IF;
         PERFORM gate(1);
         RETURN NEW;
       END $$;
     CREATE TRIGGER reject BEFORE INSERT ON categories
       FOR EACH ROW EXECUTE FUNCTION reject()`
  )
  const gates = await closeGates(t, databaseUrl, [1])
  const createNamed = (name: string) =>
    statusOrCode(createCategory(second, name, idempotencyKey(name)))
  const leader = createNamed('leader')
  await waitForGateWaiters(databaseUrl, 1)
  const responses = ['fine', 'bad'].map(createNamed)
  await listCategories(second)
  await gates.open(1)
  t.equal(await leader, 201)
  for (const response of responses) t.equal(await response, 'internal_error')

  await run('DROP FUNCTION reject CASCADE')
  for (const name of ['fine', 'bad']) t.equal(await createNamed(name), 201)
  t.equal(await createNamed('leader'), '201 replayed')
})
