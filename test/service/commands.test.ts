import path from 'node:path'
import t, { type Test } from 'tap'
import {
  copyData,
  createDatabase,
  temporaryFolder,
  empty,
  query,
  urlOf
} from '../support/database.ts'
import {
  makeKey,
  notesEnvironment,
  postNote,
  serveNotes
} from '../support/notes.ts'
import { call, keyPattern, run, script, started } from '../support/process.ts'
import { until } from '../support/until.ts'

/** Where a command finds its database. */
interface Surroundings {
  cwd?: string
  env?: Record<string, string>
}

/** Runs a command of src/commands with the API of the notes. */
async function runCommand(t: Test, line: string, surroundings: Surroundings) {
  const [name, ...args] = line.split(' ')
  const words = [...script(`src/commands/${name}.ts`), ...args]
  const env = { ...surroundings.env, ...notesEnvironment }
  const { exited, output, stdout } = run(t, words, { ...surroundings, env })
  return { code: await exited, output: output(), stdout: stdout() }
}

/** Checks that the command succeeds, and returns what it prints on stdout. */
async function printed(t: Test, line: string, surroundings: Surroundings) {
  const { code, output, stdout } = await runCommand(t, line, surroundings)
  t.equal(code, 0, output)
  return stdout.trimEnd()
}

t.test(
  'keys are created, listed and revoked with and without a service',
  async (t) => {
    const cwd = temporaryFolder(t)
    copyData(path.join(cwd, '.data'))
    const before = await printed(t, 'keys create --name before', { cwd })
    t.match(before, new RegExp(`^${keyPattern.source}$`))

    const service = serveNotes(t, {}, cwd)
    const url = await started(service)
    const during = await printed(t, 'keys create --name during', { cwd })
    for (const key of [before, during])
      t.equal((await postNote(url, key, 'x')).status, 201)

    const { output } = await runCommand(t, 'keys revoke 1', { cwd })
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

t.test('a command whose output is lost fails', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  const env = { DATABASE_URL, ...notesEnvironment }
  const toFullDisk = ['sh', '-c', 'exec "$@" >/dev/full', 'sh']
  const create = [...script('src/commands/keys.ts'), 'create', '--name', 'x']
  // stderr, which is a pipe, has the reason.
  t.match(await call(t, [...toFullDisk, ...create], { env }), {
    code: 1,
    output: /^notes: the command has run, but its output is lost: ENOSPC: /
  })
})

const isUpToDate = 'The database is up to date.'

t.test(
  'with MIGRATE_ON_START=false, a service waits for its database, and then for `npm run migrate`',
  async (t) => {
    const existing = await createDatabase(t)
    const name = `${new URL(existing).pathname.slice(1)}_later`
    const DATABASE_URL = Object.assign(new URL(urlOf(existing, name)), {
      password: 'secret'
    }).href
    const key = makeKey()
    const cwd = t.testdir({ key })
    const env = { DATABASE_URL, FIRST_API_KEY_FILE: 'key' }
    const service = serveNotes(t, { ...env, MIGRATE_ON_START: 'false' }, cwd)
    const url = await started(service)
    const status = async (endpoint: string) =>
      (await fetch(url + endpoint)).status

    await service.sees(/cannot be used: .* does not exist; retrying/)
    t.equal(await status('/readyz'), 503)
    t.equal(await status('/livez'), 200)

    await query(existing, `CREATE DATABASE ${name} ${empty}`)
    t.teardown(() => query(existing, `DROP DATABASE ${name} WITH (FORCE)`))
    await service.sees(/cannot be used: migrations are pending .*; retrying/)
    t.equal(await status('/readyz'), 503)
    t.match(await runCommand(t, 'keys list', { cwd, env }), {
      code: 1,
      output:
        'migrations are pending (0001_framework, 0002_notes): run `npm run migrate`'
    })
    t.equal(
      await printed(t, 'migrate --check', { cwd, env }),
      'To migrate: 0001_framework, 0002_notes'
    )
    const tables = "SELECT to_regclass('pgmigrations') AS name"
    t.same(await query(DATABASE_URL, tables), [{ name: null }])

    t.match(await printed(t, 'migrate', { cwd, env }), isUpToDate)
    await service.sees(/the database is ready/)
    t.equal(await status('/readyz'), 200)
    t.equal(await printed(t, 'migrate --check', { cwd, env }), isUpToDate)
    t.equal((await postNote(url, key, 'x')).status, 201)
    t.equal(await service.stop(), 0)
    t.notMatch(service.output(), keyPattern, 'no key is logged')
    t.notMatch(service.output(), 'secret')
  }
)
