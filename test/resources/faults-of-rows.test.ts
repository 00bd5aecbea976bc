import t, { type Test } from 'tap'
import { query } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { create, list, result } from '../support/requests.ts'
import { startService } from '../support/service.ts'

/** A service with one category, and the causes of its 500s. */
async function start(t: Test) {
  const { lines, logger } = recorder()
  const service = await startService(t, { logger })
  await create(service, 'Dog')

  const causes = () =>
    lines
      .filter(({ msg }) => msg === 'internal_error')
      .map(({ err }) => (err as Error).message)

  return { ...service, causes }
}

t.test(
  'a NULL in a required property fails the list and is named in the log',
  async (t) => {
    const service = await start(t)

    await query(
      service.databaseUrl,
      `ALTER TABLE categories ALTER name DROP NOT NULL;
       INSERT INTO categories (name) VALUES (NULL)`
    )

    t.equal(await result(list(service)), 'internal_error')
    t.same(service.causes(), ['Category.name must not be null'])
  }
)

t.test(
  'a trigger that drops a row fails the create and the log names the table',
  async (t) => {
    const service = await start(t)

    await query(
      service.databaseUrl,
      `CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RETURN NULL; END';
       CREATE TRIGGER drop_row BEFORE INSERT ON categories
         FOR EACH ROW EXECUTE FUNCTION drop_row()`
    )

    const keyed = { 'idempotency-key': 'key' }
    t.equal(await result(create(service)), 'internal_error')
    t.equal(await result(create(service, 'x', keyed)), 'internal_error')

    const cause =
      'a row was not stored in the table categories: a trigger dropped it'
    t.same(service.causes(), [cause, cause])
  }
)
