// A row that waits for another transaction must not delay the others.
import t, { type Test } from 'tap'
import {
  begin,
  createDatabase,
  lockAwaited,
  lockWaits,
  openDatabase,
  query
} from '../../support/database.ts'
import {
  createKey,
  createNote,
  listNotes,
  serviceName,
  startNotes,
  storedNames
} from '../../support/notes.ts'
import {
  bearer,
  codeOrStatus,
  get,
  post,
  remove
} from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'

const lockedName = 'locked'

const waitFunction = `
  CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END'`

/**
 * What another transaction holds, by why the row waits for it. Of four creates
 * of the row, one is stored if its name must be unique.
 */
const locks = {
  'its trigger waits for an advisory lock': {
    prepare: `
      ${waitFunction};
      CREATE TRIGGER wait BEFORE INSERT ON notes FOR EACH ROW
        WHEN (NEW.name = '${lockedName}') EXECUTE FUNCTION wait()`,
    hold: 'SELECT pg_advisory_xact_lock(1)',
    stored: 4
  },
  'an open transaction has its unique value': {
    prepare: `
      CREATE UNIQUE INDEX ON notes (name) WHERE name = '${lockedName}'`,
    hold: `INSERT INTO notes (name) VALUES ('${lockedName}')`,
    stored: 1
  },
  'the row of its foreign key is locked': {
    prepare: `
      CREATE TABLE names (name text PRIMARY KEY);
      INSERT INTO names VALUES ('${lockedName}'), ('x');
      ALTER TABLE notes ADD FOREIGN KEY (name) REFERENCES names`,
    hold: `SELECT FROM names WHERE name = '${lockedName}' FOR UPDATE`,
    stored: 4
  }
}

const firstLock = locks['its trigger waits for an advisory lock']

/** A service on whose database a transaction is open until `release`. */
async function start(
  t: Test,
  { prepare, hold }: { prepare: string; hold: string },
  timeout: number
) {
  const config = { DATABASE_TIMEOUT_MS: timeout }
  const service = await startNotes(t, { config })
  await query(service.databaseUrl, prepare)
  const { release } = await begin(t, service.databaseUrl, hold)

  return { service, release }
}

const create = (service: Service, name: string, key = '') =>
  codeOrStatus(createNote(service, name, key ? { 'idempotency-key': key } : {}))

for (const [reason, lock] of Object.entries(locks)) {
  t.test(`if ${reason}, a create waits alone`, async (t) => {
    const { service, release } = await start(t, lock, 60_000)
    const settled: unknown[] = []
    const blocked = ['', '', 'one', 'two'].map((key) =>
      create(service, lockedName, key).finally(() => settled.push(0))
    )
    await lockAwaited(service.databaseUrl)

    for (let round = 0; round < 5; round++) {
      const others = Array.from({ length: 20 }, (_, index) =>
        create(service, 'x', index % 2 ? `${round}-${index}` : '')
      )
      t.same(new Set(await Promise.all(others)), new Set([201]))
    }
    t.same(settled, [], 'the others still wait')

    await release()
    const stored = (await Promise.all(blocked)).filter((code) => code === 201)
    t.equal(stored.length, lock.stored)
    const names = await storedNames(service.databaseUrl)
    t.equal(names.length, 100 + stored.length)
  })
}

t.test(
  'a create that waits for too long gets 503, and had no effect',
  async (t) => {
    const { service, release } = await start(t, firstLock, 1000)

    t.equal(await create(service, lockedName), 'unavailable')
    t.equal(await create(service, lockedName, 'a'), 'unavailable')

    await release()
    t.same(await storedNames(service.databaseUrl), [])
    t.equal(await create(service, lockedName, 'a'), 201)
    t.equal(await create(service, lockedName, 'a'), '201 replayed')
  }
)

t.test(
  'deletions of a locked row get 503, and leave connections to others',
  async (t) => {
    const hold = 'SELECT FROM notes WHERE id = 1 FOR UPDATE'
    const prepare = "INSERT INTO notes (name) VALUES ('x')"
    const { service, release } = await start(t, { prepare, hold }, 5000)

    let isLocked = true
    const results = new Set<unknown>()
    const deleteNote = () => codeOrStatus(remove(service, 'notes/1'))
    const deletions = Array.from({ length: 12 }, async () => {
      while (isLocked) results.add(await deleteNote())
    })
    await lockAwaited(service.databaseUrl)

    for (let round = 0; round < 50; round++) {
      t.equal(await create(service, 'x'), 201)
      t.equal(await codeOrStatus(listNotes(service)), 200)
      t.equal(await codeOrStatus(get(service, 'notes/1')), 200)
      t.ok((await lockWaits(service.databaseUrl)) <= 2)
    }

    isLocked = false
    await Promise.all(deletions)
    t.same(results, new Set(['unavailable']))
    await release()
    t.equal((await remove(service, 'notes/1')).statusCode, 204)
  }
)

t.test(
  'locks of all rows that are written leave lists a connection',
  async (t) => {
    const prepare = `
    INSERT INTO notes (name) VALUES ('x');
    ${waitFunction};
    CREATE TRIGGER wait BEFORE INSERT ON notes
      FOR EACH ROW EXECUTE FUNCTION wait();
    CREATE TRIGGER wait BEFORE INSERT ON remarks
      FOR EACH ROW EXECUTE FUNCTION wait()`
    const hold = `${firstLock.hold}; SELECT FROM notes WHERE id = 1 FOR UPDATE`
    const { service } = await start(t, { prepare, hold }, 5000)

    let isLocked = true
    let sent = 0
    const keyed = () => ({ 'idempotency-key': `key-${sent++}` })
    const remark = { text: 'x', noteId: 1 }
    const writes = [
      () => createNote(service, 'x'),
      () => createNote(service, 'x', keyed()),
      () => post(service, 'remarks', remark),
      () => post(service, 'remarks', remark, keyed()),
      () => remove(service, 'notes/1')
    ]
    const results = new Set<unknown>()
    const clients = writes.flatMap((write) =>
      Array.from({ length: 8 }, async () => {
        while (isLocked) results.add(await codeOrStatus(write()))
      })
    )
    // A group, and a row that runs alone.
    await lockAwaited(service.databaseUrl, 2)

    for (let round = 0; round < 20; round++) {
      t.equal(await codeOrStatus(listNotes(service)), 200)
      t.equal((await service.app.inject('/readyz')).statusCode, 200)
      t.ok((await lockWaits(service.databaseUrl)) <= 7)
    }

    isLocked = false
    await Promise.all(clients)
    t.same(results, new Set(['unavailable']))
  }
)

t.test('locked tables leave keys and readiness a connection', async (t) => {
  const service = await startNotes(t, {
    config: { DATABASE_TIMEOUT_MS: 60_000 }
  })
  const { app, databaseUrl } = service
  const { release } = await begin(t, databaseUrl, 'LOCK notes')
  const list = listNotes(service)
  await lockAwaited(databaseUrl)

  const apiKey = await createKey(t, databaseUrl)
  const auth = bearer(apiKey)
  const invalid = await get({ ...service, auth }, 'remarks?limit=0')
  t.equal(invalid.statusCode, 400)
  t.equal((await app.inject('/readyz')).statusCode, 200)
  await release()
  t.equal((await list).statusCode, 200)
})

t.test(
  'deletions that wait for a table leave connections to creates of others',
  async (t) => {
    const service = await startNotes(t, {
      config: { DATABASE_TIMEOUT_MS: 60_000 }
    })
    const { databaseUrl } = service
    await query(
      databaseUrl,
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RAISE ''bad''; END';
       CREATE TRIGGER fail BEFORE INSERT ON replies
         FOR EACH ROW WHEN (NEW.text = 'bad') EXECUTE FUNCTION fail()`
    )
    const { release } = await begin(t, databaseUrl, 'LOCK notes')
    const deletions = Array.from({ length: 10 }, () =>
      codeOrStatus(remove(service, 'notes/1'))
    )
    await lockAwaited(databaseUrl, 2)

    // The row at fault runs alone.
    const bad = { text: 'bad', source: { line: 1 } }
    const reply = post(service, 'notes/1/replies', bad)
    t.equal((await reply).statusCode, 500)
    t.equal(await lockWaits(databaseUrl), 2, 'the deletions still wait')

    await release()
    t.same(new Set(await Promise.all(deletions)), new Set(['not_found']))
  }
)

t.test(
  'a replica has twelve connections, for any number of statements',
  async (t) => {
    const url = await createDatabase(t)
    const database = openDatabase(t, url, 60_000)
    const { release } = await begin(t, url, 'SELECT pg_advisory_lock(1)')
    const wait = 'SELECT FROM pg_advisory_xact_lock_shared(1) WHERE $1 > 0'

    const names = Array.from({ length: 48 }, (_, index) => `statement-${index}`)
    const runs = names.flatMap((name) => {
      const write = database.prepareSingleRow(`${name}-row`, wait)
      const read = database.prepare(name, wait)
      return [database.run('reads', read, [1]), write([1])]
    })
    await lockAwaited(url, 12)
    const open = await query(
      url,
      `SELECT FROM pg_stat_activity WHERE application_name = '${serviceName}'
       AND datname = current_database()`
    )
    t.equal(open.length, 12)

    await release()
    await Promise.all(runs)
  }
)
