import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { copyData, createDatabase, query } from './support/database.ts'
import { keyPattern, post, run, script, serve, started } from './support/process.ts'
import { until } from './support/until.ts'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
/** The command line of a script of package.json, as the tests run TypeScript. */
const command = (name: string) => script(String(scripts[name]).replace('exec node --import tsx ', ''))

t.test('keys are created, listed and revoked while the service runs and while it does not', async (t) => {
  const directory = t.testdir()
  copyData(path.join(directory, '.data'))
  const keys = (...args: string[]) => run(t, [...command('keys'), ...args], { cwd: directory })
  const first = keys('create', '--name', 'before')
  t.equal(await first.exited, 0)
  const before = first.output().trimEnd()
  t.match(before, new RegExp(`^${keyPattern.source}$`))

  const service = serve(t, {}, directory)
  const url = await started(service)
  t.equal((await post(url, before, 'x')).status, 201)
  const during = keys('create', '--name', 'during')
  t.equal(await during.exited, 0)
  t.equal((await post(url, during.output().trim(), 'x')).status, 201)
  t.equal(await keys('revoke', '1').exited, 0)
  await until(async () => (await post(url, before, 'x')).status === 401, 'a revoked key is rejected')
  const listed = keys('list')
  t.equal(await listed.exited, 0)
  t.match(listed.output(), /^ID +NAME .* STATE\n1 +before .* revoked\n2 +during .* valid\n$/)
})

t.test('a service and three commands that start together on a new folder all succeed', async (t) => {
  const directory = t.testdir()
  const keys = (...args: string[]) => run(t, [...command('keys'), ...args], { cwd: directory })
  const names = ['a', 'b', 'c']
  const creating = names.map((name) => keys('create', '--name', name))
  const service = serve(t, {}, directory)
  for (const { exited, output } of creating) t.equal(await exited, 0, output())
  const url = await started(service)
  for (const { output } of creating) t.equal((await post(url, output().trim(), 'x')).status, 201)
  t.same(readdirSync(path.join(directory, '.data')), ['postgres'])
  const listed = keys('list', '--json')
  t.equal(await listed.exited, 0)
  t.match((JSON.parse(listed.output()) as { name: string }[]).map(({ name }) => name).sort(), names)
})

t.test(
  'a given database is migrated by `npm run migrate` if MIGRATE_ON_START=false, and never by `keys`',
  async (t) => {
    const env = { DATABASE_URL: await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'") }
    const service = serve(t, { ...env, MIGRATE_ON_START: 'false' })
    const list = run(t, [...command('keys'), 'list'], { env })
    t.equal(await list.exited, 1)
    t.match(
      list.output(),
      /^pet-categories: DATABASE_URL cannot be used: migrations are pending \(0001_categories, .*\): run `npm run migrate`\n$/
    )
    const url = await started(service)
    const status = async (path: string) => (await fetch(url + path)).status
    t.equal(await status('/readyz'), 503)
    t.equal(await status('/livez'), 200)
    await service.sees(/migrations are pending \(0001_categories, [^)]*\): run `npm run migrate`; retrying/)
    t.same(await query(env.DATABASE_URL, "SELECT to_regclass('pgmigrations') AS it"), [{ it: null }])

    const migrate = run(t, command('migrate'), { env })
    t.equal(await migrate.exited, 0)
    t.match(migrate.output(), 'The database is up to date.')
    t.equal(await status('/readyz'), 200)
    t.same(await query(env.DATABASE_URL, 'SELECT FROM api_keys'), [], 'a service with DATABASE_URL creates no key')
    const created = run(t, [...command('keys'), 'create', '--name', 'x'], { env })
    t.equal(await created.exited, 0)
    t.equal((await post(url, created.output().trim(), 'x')).status, 201)
    service.child.kill('SIGTERM')
    t.equal(await service.exited, 0)
  }
)

t.test('commands report an unreachable database in one line', async (t) => {
  const env = { DATABASE_URL: 'postgres://postgres:secret@127.0.0.1:1/x' }
  const running = [[...command('keys'), 'list'], command('migrate')].map((words) => run(t, words, { env }))
  for (const { exited, output } of running) {
    t.equal(await exited, 1)
    t.match(output(), /^pet-categories: DATABASE_URL cannot be used: .*connect ECONNREFUSED 127\.0\.0\.1:1\n$/)
  }
})
