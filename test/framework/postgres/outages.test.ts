import t from 'tap'
import { Database } from '../../../src/framework/postgres/database.ts'
import {
  createDatabase,
  createRoles,
  lockAwaited,
  lockTable,
  openDatabase,
  query
} from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import * as notes from '../../support/notes.ts'
import { startNotes } from '../../support/notes.ts'
import { startPostgres } from '../../support/postgres.ts'
import { codeOrStatus, post } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const createResult = (service: Service) =>
  codeOrStatus(notes.createNote(service))
const listResult = (service: Service) => codeOrStatus(notes.listNotes(service))

/** What the log says of outages, except of background work. */
const outagesIn = (lines: Record<string, unknown>[]) =>
  lines
    .map(({ msg }) => String(msg))
    .filter((msg) => /unavailable|again|ready/.test(msg))
    .filter((msg) => !msg.includes('background'))

const postgres = await startPostgres(t)

/** The results of a create, two probes and a list. */
async function resultsOf(service: Service) {
  const probe = async () => (await service.app.inject('/readyz')).statusCode

  return [
    await createResult(service),
    await probe(),
    await probe(),
    await listResult(service)
  ]
}

t.test('an outage is logged once, and ends by itself', async (t) => {
  const { lines, log } = recorder()
  const service = await startNotes(t, { databaseUrl: postgres.url, log })
  await createResult(service)
  await postgres.kill()

  t.match(
    await createResult(service),
    /^(unavailable|outcome_unknown)$/,
    'its connection may have seemed to be open'
  )

  t.same(await resultsOf(service), ['unavailable', 503, 503, 'unavailable'])

  await postgres.start()
  t.same(await resultsOf(service), [201, 200, 200, 200])

  const reported = outagesIn(lines)
  t.equal(new Set(reported).size, reported.length)
  // Whether a create gets as far as its write depends on when its key was
  // looked up.
  const notOfWrites = reported.filter((msg) => !msg.includes('writes'))
  t.same(notOfWrites.sort(), [
    'not ready',
    'ready',
    'the database is unavailable for reads'
  ])
})

t.test('an outdated prepared statement is replaced', async (t) => {
  const url = await createDatabase(t)
  const database = openDatabase(t, url)
  const ids = database.statements.add('ids', 'SELECT id FROM notes')
  await database.read(ids)

  await query(url, 'ALTER TABLE notes ALTER id TYPE integer')
  await t.rejects(database.read(ids), { code: 'unavailable' })
  t.same(await database.read(ids), [])
})

t.test('a table that stays locked is one outage in the log', async (t) => {
  const { lines, log } = recorder()
  const service = await startNotes(t, {
    log,
    config: { DATABASE_TIMEOUT_MS: 300 }
  })
  t.equal(await createResult(service), 201)
  await lockTable(t, service.databaseUrl, 'notes IN SHARE MODE')

  for (let round = 0; round < 3; round++) {
    t.equal(await createResult(service), 'unavailable')
    const remark = { noteId: 1, text: 'the other table works' }
    const isStored = async () =>
      (await post(service, 'remarks', remark)).statusCode === 202
    await until(isStored, 'a remark is stored')
  }

  const writeOutages = outagesIn(lines).filter((msg) => msg.includes('writes'))
  t.same(writeOutages, ['the database is unavailable for writes'])
})

t.test('the log explains missing migrations and grants', async (t) => {
  const { lines, log } = recorder()
  const { owner, service: databaseUrl } = await createRoles(t)
  const service = await startNotes(t, { databaseUrl, log })
  const role = new URL(databaseUrl).username
  /** What is missing, and the repair. */
  const faults = {
    'ALTER TABLE notes RENAME TO x': 'ALTER TABLE x RENAME TO notes',
    [`REVOKE ALL ON notes FROM ${role}`]: `GRANT SELECT, INSERT ON notes TO ${role}`
  }

  for (const [fault, repair] of Object.entries(faults)) {
    await query(owner, fault)
    t.equal(await listResult(service), 'unavailable')
    t.equal(await createResult(service), 'unavailable')

    await query(owner, repair)
    t.equal(await listResult(service), 200)
    t.equal(await createResult(service), 201)
  }

  const cause = 'migrations or grants may be missing'
  t.same(outagesIn(lines), [
    `the database is unavailable for reads: ${cause}`,
    `the database is unavailable for writes: ${cause}`
  ])
  t.notOk(lines.some(({ msg }) => msg === 'internal_error'))
})

t.test(
  'a statement that waits while the service stops is no outage',
  async (t) => {
    const { lines, log } = recorder()
    const databaseUrl = await createDatabase(t)
    const config = { MAX_DATABASE_CONNECTIONS: 1, DATABASE_TIMEOUT_MS: 60_000 }
    const database = new Database(databaseUrl, config, log)
    const lock = await lockTable(t, databaseUrl, 'api_keys')
    const first = database.read({ text: 'SELECT FROM api_keys' })
    await lockAwaited(databaseUrl)

    const closing = database.close()
    await t.rejects(database.read({ text: 'SELECT' }), { code: 'unavailable' })
    await lock.release()
    await first
    await closing
    t.same(outagesIn(lines), [])
  }
)
