import { closeSync, openSync, readdirSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import {
  copyData,
  createDatabase,
  temporaryFolder,
  empty,
  query
} from '../support/database.ts'
import { notesEnvironment, postNote, serveNotes } from '../support/notes.ts'
import { call, keyPattern, run, script, started } from '../support/process.ts'
import { until } from '../support/until.ts'

/** Where a command finds its database. */
interface Surroundings {
  cwd?: string
  env?: Record<string, string>
}

/** Runs a command of src/commands with the API of the notes. */
async function withMigratedDatabase(
  t: Test,
  command: string,
  { cwd, env }: Surroundings
) {
  const [name, ...args] = command.split(' ')
  const whole = [...script(`src/commands/${name}.ts`), ...args]
  const { exited, output, stdout } = run(t, whole, {
    ...(cwd !== undefined && { cwd }),
    env: { ...env, ...notesEnvironment }
  })
  return { code: await exited, output: output(), stdout: stdout() }
}

/** Checks that the command succeeds, and returns what it prints on stdout. */
async function printed(
  t: Test,
  command: string,
  surroundings: Surroundings
): Promise<string> {
  const ended = await withMigratedDatabase(t, command, surroundings)
  t.equal(ended.code, 0, ended.output)
  return ended.stdout.trimEnd()
}

const isUpToDate = 'The database is up to date.'

t.test(
  'keys are created, listed and revoked with and without a service',
  async (t) => {
    const cwd = temporaryFolder(t)
    copyData(path.join(cwd, '.data'))
    const migrated = await printed(t, 'migrate', { cwd })
    t.match(migrated, /"migration":"0002_notes"/)
    t.match(migrated, isUpToDate)
    const before = await printed(t, 'keys create --name before', { cwd })
    t.match(before, new RegExp(`^${keyPattern.source}$`))

    const service = serveNotes(t, {}, cwd)
    const url = await started(service)
    const during = await printed(t, 'keys create --name during', { cwd })
    for (const key of [before, during])
      t.equal((await postNote(url, key, 'x')).status, 201)

    const { output } = await withMigratedDatabase(t, 'keys revoke 1', { cwd })
    t.match(output, /"key":"1","msg":"API key revoked"/)
    const isRejected = async () =>
      (await postNote(url, before, 'x')).status === 401
    await until(isRejected, 'a revoked key is rejected')
    t.match(
      await printed(t, 'keys list', { cwd }),
      /'1' .* 'before' .* 'revoked' .*\n.* '2' .* 'during' .* 'valid' /
    )
    t.equal(await service.stop(), 0)
  }
)

t.test(
  'a service and three commands may start together on a new folder',
  async (t) => {
    const cwd = temporaryFolder(t)
    const creating = Promise.all(
      [1, 2, 3].map(() => printed(t, 'keys create --name x', { cwd }))
    )
    const service = serveNotes(t, {}, cwd)
    const keys = await creating
    const url = await started(service)

    for (const key of keys) t.equal((await postNote(url, key, 'x')).status, 201)
    t.same(readdirSync(path.join(cwd, '.data')), ['postgres'])
    t.equal(await service.stop(), 0)
  }
)

t.test('a command whose output is lost fails', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  const lost = 'the command had its effect, but its output is lost: ENOSPC: '
  const lines = {
    'keys create --name x': lost,
    'keys list': lost,
    'keys list --json': lost,
    'keys --help': 'ENOSPC: ',
    'keys help create': 'ENOSPC: ',
    'migrate --check': lost
  }
  for (const [line, says] of Object.entries(lines)) {
    const [name, ...args] = line.split(' ')
    const command = [...script(`src/commands/${name}.ts`), ...args]
    const env = { DATABASE_URL, ...notesEnvironment }
    // stderr, which is a pipe, has the reason.
    const { code, output } = await call(
      t,
      ['sh', '-c', 'exec "$@" >/dev/full', 'sh', ...command],
      { env }
    )
    t.equal(code, 1, line)
    t.ok(output.startsWith(`notes: ${says}`), output)
  }
  const keys = await query(DATABASE_URL, 'SELECT name FROM api_keys')
  t.same(keys, [{ name: 'x' }])

  const file = openSync('/dev/full', 'a')
  t.teardown(() => closeSync(file))
  const env = { DATABASE_URL, ...notesEnvironment }
  const command = [...script('src/commands/keys.ts'), 'list']
  const { code } = await call(t, command, { env, file })
  t.equal(code, 1, 'also if its error is lost')
})

t.test(
  'with MIGRATE_ON_START=false, a service is ready after `npm run migrate`',
  async (t) => {
    const DATABASE_URL = await createDatabase(t, empty)
    const env = { DATABASE_URL }
    const service = serveNotes(t, { ...env, MIGRATE_ON_START: 'false' })
    const url = await started(service)
    const jsonOf = async (endpoint: string) =>
      (await fetch(url + endpoint)).json()

    const reason =
      /migrations are pending \(0001_framework, 0002_notes\): run `npm run migrate`/
    await service.sees(new RegExp(`${reason.source}; retrying`))
    t.match(await jsonOf('/readyz'), { code: 'unavailable', status: 503 })
    t.same(await jsonOf('/livez'), { status: 'ok' })
    t.match(await withMigratedDatabase(t, 'keys list', { env }), {
      code: 1,
      output: new RegExp(
        `^notes: the database, or DATABASE_URL, cannot be used: ${reason.source}\n$`
      )
    })
    t.equal(
      await printed(t, 'migrate --check', { env }),
      'To migrate: 0001_framework, 0002_notes'
    )
    const tables = "SELECT to_regclass('pgmigrations') AS name"
    t.same(await query(DATABASE_URL, tables), [{ name: null }])

    t.match(await printed(t, 'migrate', { env }), isUpToDate)
    await service.sees(/the database is ready/)
    t.same(await jsonOf('/readyz'), { status: 'ok' })
    t.equal(await printed(t, 'migrate --check', { env }), isUpToDate)
    const keys = await query(DATABASE_URL, 'SELECT FROM api_keys')
    t.same(keys, [], 'a service with DATABASE_URL creates no key')

    const key = await printed(t, 'keys create --name x', { env })
    t.equal((await postNote(url, key, 'x')).status, 201)
    t.equal(await service.stop(), 0)
  }
)
