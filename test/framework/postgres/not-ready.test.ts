import { EventEmitter, once } from 'node:events'
import t, { type Test } from 'tap'
import { Database } from '../../../src/framework/postgres/database.ts'
import {
  createDatabase,
  createRoles,
  emptyLatin1,
  query
} from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import { postNote, serveNotes, makeKey } from '../../support/notes.ts'
import { started } from '../../support/process.ts'

/** On a busy machine, a connection may take longer than the default. */
const patient = { DATABASE_TIMEOUT_MS: '60000' }

/** The level of a warning in pino's log. */
const warning = 40

/** A database that the service cannot use. */
interface Unusable {
  title: string
  /** Returns the variables of the service. */
  make: (t: Test) => Promise<Record<string, string>>
  reason: RegExp
}

const unusableDatabases: Unusable[] = [
  {
    title: 'does not exist',
    reason: /database "missing" does not exist/,
    async make(t) {
      const url = new URL(await createDatabase(t))
      url.pathname = '/missing'
      return { DATABASE_URL: url.href }
    }
  },
  {
    title: 'is encoded in LATIN1',
    reason: /must be encoded in UTF8, not LATIN1/,
    async make(t) {
      return { DATABASE_URL: await createDatabase(t, emptyLatin1) }
    }
  },
  {
    title: 'gives the role of the service no rights',
    reason: /permission denied/,
    async make(t) {
      const { owner, service } = await createRoles(t)
      const role = new URL(service).username
      await query(owner, `REVOKE ALL ON pgmigrations FROM ${role}`)
      return { DATABASE_URL: service }
    }
  },
  {
    title: 'has a pending migration, which the service may not apply',
    reason: /migrations are pending \(0002_notes\)/,
    async make(t) {
      const url = await createDatabase(t)
      await query(url, "DELETE FROM pgmigrations WHERE name = '0002_notes'")
      return { DATABASE_URL: url, MIGRATE_ON_START: 'false' }
    }
  }
]

/** The warnings and errors in the output of a service. */
const problemsIn = (output: string) =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: number; msg: string })
    .filter(({ level }) => level >= warning)

/** Starts the service on the database and uses it. Returns its problems. */
async function serveUnusable(t: Test, { make }: Unusable, folder: string) {
  const service = serveNotes(t, { ...patient, ...(await make(t)) }, folder)
  const url = await started(service)
  await service.sees(/retrying/)

  const { status } = await postNote(url, makeKey(), 'x')
  t.ok(status >= 400)

  await service.stop()

  return problemsIn(service.output())
}

t.test('a database that cannot be used is one line in the log', async (t) => {
  const folder = t.testdir()
  const check = async (database: Unusable) => {
    const problems = await serveUnusable(t, database, folder)
    t.match(problems, [{ msg: database.reason }], database.title)
    t.equal(problems.length, 1, database.title)
  }
  await Promise.all(unusableDatabases.map(check))
})

t.test('outages are logged once the database has been ready', async (t) => {
  const { lines, log } = recorder()
  const url = new URL(await createDatabase(t))
  url.pathname = '/missing'
  const config = { MAX_DATABASE_CONNECTIONS: 1, DATABASE_TIMEOUT_MS: 5000 }
  const database = new Database(url.href, config, log)
  const statement = { text: 'SELECT' }
  const failStatements = async () => {
    await t.rejects(database.read(statement))
    await t.rejects(database.write(statement))
    await t.rejects(database.writeInBackground(statement))
  }

  const preparation = new EventEmitter()
  const ready = once(preparation, 'end')
  database.reportOutagesAfter(ready)
  await failStatements()
  t.same(lines, [])

  preparation.emit('end')
  await ready
  await failStatements()
  t.same(
    lines.map(({ msg }) => msg),
    [
      'the database is unavailable for reads',
      'the database is unavailable for writes',
      'the database is unavailable for background work'
    ]
  )
  await database.close()
})
