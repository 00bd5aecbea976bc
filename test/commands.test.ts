import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { copyData, createDatabase, query } from './support/database.ts'
import {
  call,
  keyPattern,
  post,
  script,
  serve,
  started
} from './support/process.ts'
import { until } from './support/until.ts'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Record<string, string>
}

/** Where a command finds its database. */
interface Place {
  cwd?: string
  env?: Record<string, string>
}

/** Runs a script of package.json, with TypeScript as in the tests. */
function npmRun(t: Test, command: string, place: Place) {
  const [name = '', ...args] = command.split(' ')
  return call(
    t,
    [
      ...script(String(scripts[name]).replace('exec node --import tsx ', '')),
      ...args
    ],
    place
  )
}

/** Checks that the command succeeds, and returns what it prints. */
async function printed(
  t: Test,
  command: string,
  place: Place
): Promise<string> {
  const { code, output } = await npmRun(t, command, place)
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

    const url = await started(serve(t, {}, cwd))
    const during = await printed(t, 'keys create --name during', { cwd })
    for (const key of [before, during])
      t.equal((await post(url, key, 'x')).status, 201)
    await printed(t, 'keys revoke 1', { cwd })
    await until(
      async () => (await post(url, before, 'x')).status === 401,
      'a revoked key is rejected'
    )
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
    const service = serve(t, {}, cwd)
    const keys = await creating
    const url = await started(service)
    for (const key of keys) t.equal((await post(url, key, 'x')).status, 201)
    t.same(readdirSync(path.join(cwd, '.data')), ['postgres'])
  }
)

t.test(
  'a given database is migrated only by `npm run migrate` if MIGRATE_ON_START=false',
  async (t) => {
    const env = {
      DATABASE_URL: await createDatabase(
        t,
        "TEMPLATE template0 ENCODING 'UTF8'"
      )
    }
    const service = serve(t, { ...env, MIGRATE_ON_START: 'false' })
    const { code, output } = await npmRun(t, 'keys list', { env })
    t.equal(code, 1)
    t.match(
      output,
      /^pet-categories: DATABASE_URL cannot be used: migrations are pending \(0001.*\): run `npm run migrate`\n$/
    )
    const url = await started(service)
    const get = async (path: string) => (await fetch(url + path)).json()
    t.match(await get('/readyz'), { code: 'unavailable', status: 503 })
    t.same(await get('/livez'), { status: 'ok' })
    await service.sees(
      /migrations are pending \(0001_categories, [^)]*\): run `npm run migrate`; retrying/
    )
    t.same(
      await query(env.DATABASE_URL, "SELECT to_regclass('pgmigrations') AS it"),
      [{ it: null }]
    )

    t.match(await printed(t, 'migrate', { env }), 'The database is up to date.')
    t.same(await get('/readyz'), { status: 'ok' })
    t.same(
      await query(env.DATABASE_URL, 'SELECT FROM api_keys'),
      [],
      'a service with DATABASE_URL creates no key'
    )
    const key = await printed(t, 'keys create --name x', { env })
    t.equal((await post(url, key, 'x')).status, 201)
    t.same(await query(env.DATABASE_URL, 'SELECT command FROM key_events'), [
      { command: 'keys create --name x' }
    ])
    t.equal(await service.stop(), 0)
  }
)

t.test('a mistake in a command is reported in one line', async (t) => {
  const given = { DATABASE_URL: await createDatabase(t) }
  const unreachable = {
    DATABASE_URL: 'postgres://postgres:secret@127.0.0.1:1/x'
  }
  const refused =
    /^pet-categories: DATABASE_URL cannot be used: .*connect ECONNREFUSED 127\.0\.0\.1:1\n$/
  const duration = "argument '1y' is invalid. Write it as 30m, 24h or 90d.\n"
  const cases: [
    command: string,
    env: Record<string, string>,
    output: string | RegExp
  ][] = [
    ['keys list', unreachable, refused],
    ['migrate', unreachable, refused],
    [
      'keys revoke 99',
      given,
      /^pet-categories: Key 99 is not valid; see: keys list\n$/
    ],
    ['keys create --name x --expires 1y', given, duration],
    [
      'keys',
      { npm_lifecycle_event: 'keys' },
      /^Usage: npm run keys -- \[options\] \[command\]/
    ]
  ]
  const fails = async ([command, env, output]: (typeof cases)[number]) =>
    t.match(await npmRun(t, command, { env }), { code: 1, output }, command)
  await Promise.all(cases.map(fails))
})
