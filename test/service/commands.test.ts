import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { copyData, createDatabase, empty, query } from '../support/database.ts'
import { notesEnvironment, postNote, serveNotes } from '../support/notes.ts'
import { call, keyPattern, script, started } from '../support/process.ts'
import { until } from '../support/until.ts'

const packageJson = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Record<string, string>
  bin?: object
}
const { scripts } = packageJson

/** Where a command finds its database. */
interface Surroundings {
  cwd?: string
  env?: Record<string, string>
}

/**
 * Runs a script of package.json, with TypeScript as in the tests and with the
 * API of the notes.
 */
function npmRun(t: Test, command: string, { cwd, env }: Surroundings) {
  const [name = '', ...args] = command.split(' ')

  return call(
    t,
    [
      ...script(String(scripts[name]).replace('exec node tools/run.js ', '')),
      ...args
    ],
    { ...(cwd !== undefined && { cwd }), env: { ...env, ...notesEnvironment } }
  )
}

/** Whether the service has migrated the database. */
async function isMigrated(url: string): Promise<boolean> {
  const [row] = await query(url, "SELECT to_regclass('pgmigrations') AS name")
  return row?.['name'] !== null
}

/** Checks that the command succeeds, and returns what it prints. */
async function printed(
  t: Test,
  command: string,
  surroundings: Surroundings
): Promise<string> {
  const { code, output } = await npmRun(t, command, surroundings)
  t.equal(code, 0, output)
  return output.trimEnd()
}

t.test(
  'keys are created, listed and revoked while the service runs and while it does not',
  async (t) => {
    const cwd = t.testdir()
    copyData(path.join(cwd, '.data'))
    const before = await printed(t, 'keys create --name before', { cwd })
    t.match(before, new RegExp(`^${keyPattern.source}$`))

    const url = await started(serveNotes(t, {}, cwd))
    const during = await printed(t, 'keys create --name during', { cwd })
    for (const key of [before, during])
      t.equal((await postNote(url, key, 'x')).status, 201)

    await printed(t, 'keys revoke 1', { cwd })
    const isRejected = async () =>
      (await postNote(url, before, 'x')).status === 401
    await until(isRejected, 'a revoked key is rejected')
    t.match(
      await printed(t, 'keys list', { cwd }),
      /^ID +NAME .* STATE\n1 +before .* revoked\n2 +during .* valid$/
    )
  }
)

t.test(
  'a service and three commands that start together on a new folder all succeed',
  async (t) => {
    const cwd = t.testdir()
    const creating = Promise.all(
      [1, 2, 3].map(() => printed(t, 'keys create --name x', { cwd }))
    )
    const service = serveNotes(t, {}, cwd)
    const keys = await creating
    const url = await started(service)

    for (const key of keys) t.equal((await postNote(url, key, 'x')).status, 201)
    t.same(readdirSync(path.join(cwd, '.data')), ['postgres'])
  }
)

/** Starts a service that does not migrate its new database. */
async function serveWithoutMigrations(t: Test) {
  const env = { DATABASE_URL: await createDatabase(t, empty) }
  const service = serveNotes(t, { ...env, MIGRATE_ON_START: 'false' })
  const url = await started(service)
  const jsonOf = async (endpoint: string) =>
    (await fetch(url + endpoint)).json()

  return { env, service, url, jsonOf }
}

t.test('with MIGRATE_ON_START=false, nothing is migrated', async (t) => {
  const { env, service, jsonOf } = await serveWithoutMigrations(t)

  await service.sees(
    /migrations are pending \(0001_framework, [^)]*\): run `npm run migrate`; retrying/
  )
  t.match(await jsonOf('/readyz'), { code: 'unavailable', status: 503 })
  t.same(await jsonOf('/livez'), { status: 'ok' })

  t.match(await npmRun(t, 'keys list', { env }), {
    code: 1,
    output:
      /^[\w-]+: the database cannot be used: migrations are pending \(0001.*\): run `npm run migrate`\n$/
  })
  t.notOk(await isMigrated(env.DATABASE_URL))
})

t.test(
  'a service that does not migrate is ready after `npm run migrate`',
  async (t) => {
    const { env, service, url, jsonOf } = await serveWithoutMigrations(t)
    const { DATABASE_URL } = env
    await service.sees(/migrations are pending/)

    t.match(await printed(t, 'migrate', { env }), 'The database is up to date.')
    await service.sees(/the database is ready/)
    t.same(await jsonOf('/readyz'), { status: 'ok' })
    t.same(
      await query(DATABASE_URL, 'SELECT FROM api_keys'),
      [],
      'a service with DATABASE_URL creates no key'
    )

    const key = await printed(t, 'keys create --name x', { env })
    t.equal((await postNote(url, key, 'x')).status, 201)
    t.same(await query(DATABASE_URL, 'SELECT command FROM key_events'), [
      { command: 'keys create --name x' }
    ])
    t.equal(await service.stop(), 0)
  }
)

t.test(
  'migrate --check names what is pending, and migrates nothing',
  async (t) => {
    const env = { DATABASE_URL: await createDatabase(t, empty) }

    const before = await printed(t, 'migrate --check', { env })
    t.match(before, /^To migrate: 0001_framework, 0002_notes$/)
    t.notOk(await isMigrated(env.DATABASE_URL))

    await printed(t, 'migrate', { env })
    t.equal(
      await printed(t, 'migrate --check', { env }),
      'The database is up to date.'
    )
  }
)

const mistakesOfMigrate = [
  {
    command: 'migrate --chekc',
    env: {},
    message: 'migrate has only the option --check'
  },
  {
    command: 'migrate --check',
    env: {},
    message: 'DATABASE_URL is not set'
  },
  {
    command: 'migrate --check',
    env: { DATABASE_URL: 'postgres://127.0.0.1:1/none' },
    message: 'DATABASE_URL cannot be used: '
  }
]

t.test('a check that is not possible fails', async (t) => {
  for (const { command, env, message } of mistakesOfMigrate) {
    const cwd = t.testdir()
    const { code, output } = await npmRun(t, command, { cwd, env })
    t.equal(code, 1, command)
    t.match(output, `notes: ${message}`)
    t.same(readdirSync(cwd), [], 'no embedded database is made')
  }
})

t.test('npm run migrate migrates the embedded database', async (t) => {
  const cwd = t.testdir()
  copyData(path.join(cwd, '.data'))

  const output = await printed(t, 'migrate', { cwd })

  t.match(output, /"migration":"0002_notes"/)
  t.match(output, /^The database is up to date\.$/m)
})

t.test('without a command, keys prints its usage', async (t) => {
  const env = { npm_lifecycle_event: 'keys' }
  const { code, output } = await npmRun(t, 'keys', { env })

  t.equal(code, 1)
  t.match(output, /^Usage: npm run keys -- \[options\] \[command\]/)
})

t.test('a program that the image puts on PATH has a shebang', (t) => {
  const dockerfile = readFileSync('Dockerfile', 'utf8')
  const linked = [...dockerfile.matchAll(/ln -s \/app\/dist\/(\S+)\.js/g)]
  const { bin } = packageJson
  const programs = linked.map(([, name]) => `${name}.ts`)

  t.same(programs, ['src/commands/keys.ts'])
  t.equal(bin, undefined, 'nothing else installs programs')
  for (const program of programs)
    t.match(readFileSync(program, 'utf8'), /^#!\/usr\/bin\/env node\n/)
  t.end()
})
