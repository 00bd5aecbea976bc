// One slow row must not delay the creates of others.
import t, { type Test } from 'tap'
import { connect, query } from '../../support/database.ts'
import { createNote, startNotes } from '../../support/notes.ts'
import { codeOrStatus } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const slowName = 'slow'

/** Runs a statement for each new note of this name. */
const forSlowRow = (statement: string) => `
  CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ${statement};
    RETURN NEW;
  END $$;

  CREATE TRIGGER be_slow BEFORE INSERT ON notes
  FOR EACH ROW WHEN (NEW.name = '${slowName}')
  EXECUTE FUNCTION be_slow();
`

/** What makes a row slow. */
interface SlowRow {
  reason: string
  /** Changes the table. */
  prepare: string
  /** While a transaction that has run this is open, the row is slow. */
  hold: string
}

const sleepingTrigger: SlowRow = {
  reason: 'its trigger sleeps',
  prepare: forSlowRow(`
    WHILE NOT pg_try_advisory_xact_lock(1) LOOP
      PERFORM pg_sleep(0.01);
    END LOOP
  `),
  hold: 'SELECT pg_advisory_xact_lock(1)'
}

const slowRows: SlowRow[] = [
  {
    reason: 'a table that its trigger reads is locked',
    prepare: `CREATE TABLE other (); ${forSlowRow('PERFORM FROM other')}`,
    hold: 'LOCK TABLE other'
  },
  {
    reason: 'its trigger waits for an advisory lock',
    prepare: forSlowRow('PERFORM pg_advisory_xact_lock(1)'),
    hold: 'SELECT pg_advisory_xact_lock(1)'
  },
  {
    reason: 'an open transaction has its unique value',
    prepare: `CREATE UNIQUE INDEX ON notes (name) WHERE name = '${slowName}'`,
    hold: `INSERT INTO notes (name) VALUES ('${slowName}')`
  },
  sleepingTrigger
]

/** A service on whose database the row is slow until `release` is called. */
async function startWithSlowRow(t: Test, { prepare, hold }: SlowRow) {
  const service = await startNotes(t, {
    config: { DATABASE_TIMEOUT_MS: 30_000 }
  })
  await query(service.databaseUrl, prepare)

  const client = await connect(t, service.databaseUrl)
  await client.query(`BEGIN; ${hold}`)

  return { service, release: () => client.query('ROLLBACK') }
}

/** The service as clients with API keys of their own call it. */
function newClients(service: Service, count: number): Promise<Service[]> {
  const clients = Array.from({ length: count }, async (_, index) => {
    const key = await service.keys.create(`client ${index}`)
    return { ...service, auth: { authorization: `Bearer ${key}` } }
  })

  return Promise.all(clients)
}

const storedSlowRows = ({ databaseUrl }: Service) =>
  query(databaseUrl, 'SELECT FROM notes WHERE name = $1', [slowName])

/** Creates the slow row with two keys, and twice without one. */
function createSlowRows(service: Service) {
  const settled: unknown[] = []

  const creates = ['key-1', 'key-2', undefined, undefined].map(async (key) => {
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const status = await codeOrStatus(createNote(service, slowName, headers))
    settled.push(status)
    return status
  })

  return { settled, all: Promise.all(creates) }
}

/** Each client creates a quick row, every second one with a key. */
const createQuickRows = (clients: Service[], round: number) =>
  Promise.all(
    clients.map((client, index) => {
      const key = { 'idempotency-key': `quick-${round}-${index}` }
      return codeOrStatus(createNote(client, 'quick', index % 2 ? key : {}))
    })
  )

for (const slowRow of slowRows) {
  t.test(
    `if ${slowRow.reason}, a create waits alone, and is stored once`,
    async (t) => {
      const { service, release } = await startWithSlowRow(t, slowRow)
      const others = await newClients(service, 8)
      const slow = createSlowRows(service)

      for (let round = 0; round < 5; round++) {
        const statuses = await createQuickRows(others, round)
        t.same(new Set(statuses), new Set([201]))
      }

      t.same(slow.settled, [], 'the slow ones still wait')
      await release()

      const isUnique = slowRow.hold.startsWith('INSERT')
      const created = (await slow.all).filter((status) => status === 201)
      t.equal(created.length, isUnique ? 1 : 4)
      t.equal((await storedSlowRows(service)).length, created.length)
    }
  )
}

t.test(
  'further creates of the client with the slow row do not wait for it',
  async (t) => {
    const { service, release } = await startWithSlowRow(t, sleepingTrigger)
    const slow = codeOrStatus(createNote(service, slowName))

    for (let round = 0; round < 5; round++) {
      const others = Array.from({ length: 8 }, () =>
        codeOrStatus(createNote(service))
      )
      t.same(new Set(await Promise.all(others)), new Set([201]))
    }

    await release()
    t.equal(await slow, 201)
  }
)

t.test(
  'a row that stays slow gets 503 without effect, and can be sent again',
  async (t) => {
    const service = await startNotes(t, {
      config: { DATABASE_TIMEOUT_MS: 1000 }
    })
    await query(service.databaseUrl, sleepingTrigger.prepare)
    const client = await connect(t, service.databaseUrl)
    await client.query(`BEGIN; ${sleepingTrigger.hold}`)

    const key = { 'idempotency-key': 'key' }
    t.equal(await codeOrStatus(createNote(service, slowName)), 'unavailable')
    t.equal(
      await codeOrStatus(createNote(service, slowName, key)),
      'unavailable'
    )
    t.same(await storedSlowRows(service), [])

    await client.query('ROLLBACK')
    t.equal(await codeOrStatus(createNote(service, slowName, key)), 201)
    t.equal(
      await codeOrStatus(createNote(service, slowName, key)),
      '201 replayed'
    )
    t.equal((await storedSlowRows(service)).length, 1)
  }
)

t.test('the group timeout does not outlive its statement', async (t) => {
  const { databaseUrl, database } = await startNotes(t, {
    config: { MAX_DATABASE_CONNECTIONS: 1, DATABASE_TIMEOUT_MS: 30_000 }
  })
  const limit = database.statements.add(
    'limit',
    `SELECT current_setting('statement_timeout') AS limit`
  )
  const fault = database.statements.add('fault', 'SELECT 1 / 0')

  t.same(await database.writeWithinGroupTimeout(limit), [{ limit: '1500ms' }])
  t.same(await database.write(limit), [{ limit: '0' }])

  await t.rejects(database.writeWithinGroupTimeout(fault))
  t.same(await database.write(limit), [{ limit: '0' }])

  await until(async () => {
    const rows = await query(
      databaseUrl,
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND state LIKE 'idle in%'`
    )

    return rows.length === 0
  }, 'no transaction is open')
})

t.test('the group timeout does not apply to the commit', async (t) => {
  const { databaseUrl, database } = await startNotes(t, {
    config: { DATABASE_TIMEOUT_MS: 30_000 }
  })
  await query(
    databaseUrl,
    `CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
     CREATE CONSTRAINT TRIGGER sleep AFTER INSERT ON notes
       DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION sleep()`
  )

  const insert = database.statements.add(
    'insert',
    "INSERT INTO notes (name) VALUES ('x') RETURNING id"
  )
  await t.resolves(database.writeWithinGroupTimeout(insert))
})
