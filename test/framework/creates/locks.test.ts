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
  createNote,
  listNotes,
  startNotes,
  storedNames
} from '../../support/notes.ts'
import { codeOrStatus, get, post, remove } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'

/**
 * A service with the note 1. Until `release`, another transaction has locked
 * it, and creates of notes with the name `locked` wait.
 */
async function start(t: Test, DATABASE_TIMEOUT_MS: number) {
  const service = await startNotes(t, { config: { DATABASE_TIMEOUT_MS } })
  const { databaseUrl } = service
  await query(
    databaseUrl,
    `INSERT INTO notes (name) VALUES ('first');
     CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
     CREATE TRIGGER wait BEFORE INSERT ON notes FOR EACH ROW
       WHEN (NEW.name = 'locked') EXECUTE FUNCTION wait()`
  )
  const { release } = await begin(
    t,
    databaseUrl,
    'SELECT pg_advisory_xact_lock(1) FROM notes WHERE id = 1 FOR UPDATE'
  )

  return { service, release }
}

const create = (service: Service, name: string, key = '') =>
  codeOrStatus(createNote(service, name, key ? { 'idempotency-key': key } : {}))

t.test('writes of locked rows delay no other requests', async (t) => {
  const { service, release } = await start(t, 60_000)
  const settled: unknown[] = []
  const blocked = ['', '', 'one', 'two'].map((key) =>
    create(service, 'locked', key).finally(() => settled.push(key))
  )
  const deletions = Array.from({ length: 6 }, () =>
    codeOrStatus(remove(service, 'notes/1'))
  )
  // A create and a deletion.
  await lockAwaited(service.databaseUrl, 2)

  for (const round of ['a', 'b'])
    t.same(
      await Promise.all([
        create(service, round),
        create(service, round, round),
        codeOrStatus(listNotes(service)),
        codeOrStatus(get(service, 'notes/1')),
        codeOrStatus(service.app.inject('/readyz'))
      ]),
      [201, 201, 200, 200, 200]
    )
  t.same(new Set(await Promise.all(deletions)), new Set(['unavailable']))
  t.same(settled, [], 'the creates still wait')

  await release()
  t.same(await Promise.all(blocked), [201, 201, 201, 201])
  const names = await storedNames(service.databaseUrl)
  t.equal(names.filter((name) => name === 'locked').length, 4)
})

t.test(
  'a create that waits for too long gets 503, and had no effect',
  async (t) => {
    const { service, release } = await start(t, 1000)
    const creates = ['', 'key'].map((key) => create(service, 'locked', key))
    t.same(await Promise.all(creates), ['unavailable', 'unavailable'])

    await release()
    t.same(await storedNames(service.databaseUrl), ['first'])
    t.equal(await create(service, 'locked', 'key'), 201)
  }
)

t.test(
  'deletions that wait for a table leave connections to creates of others',
  async (t) => {
    const service = await startNotes(t, {
      config: { DATABASE_TIMEOUT_MS: 60_000 }
    })
    const { databaseUrl } = service
    await query(databaseUrl, "ALTER TABLE replies ADD CHECK (text <> 'bad')")
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

    const runs = Array.from({ length: 20 }, (_, index) => {
      const read = database.prepare(`read-${index}`, wait)
      const write = database.prepareSingleRow(`write-${index}`, wait)
      return [database.run('reads', read, [1]), write([1])]
    })
    await lockAwaited(url, 12)
    t.equal(await lockWaits(url), 12)

    await release()
    await Promise.all(runs.flat())
  }
)

t.test('two statements with one name are a mistake', (t) => {
  const database = openDatabase(t, 'postgres://localhost')
  database.prepare('x', 'SELECT 1')
  t.throws(() => database.prepare('x', 'SELECT 2'), {
    message: 'two statements are called x'
  })
  t.end()
})
