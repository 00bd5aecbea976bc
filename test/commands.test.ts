import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createDatabase, query } from './support/database.ts'
import { keyPattern, post, run, script, serve, started } from './support/process.ts'

/** Resolves when the service has migrated a given database, which it does after it listens. */
async function ready(url: string): Promise<void> {
  while ((await fetch(`${url}/readyz`)).status !== 200);
}

t.test('keys are made, listed and revoked while the service runs and when it does not', async (t) => {
  const directory = t.testdir()
  const keys = (...args: string[]) => run(t, [...script('src/api-keys/cli.ts'), ...args], { cwd: directory })
  const made = keys('create', '--name', 'before')
  t.equal(await made.exited, 0)
  const before = made.output().trimEnd().split('\n').at(-1) ?? ''
  t.match(before, new RegExp(`^${keyPattern.source}$`))

  const service = serve(t, {}, directory)
  const url = await started(service)
  t.equal((await post(url, before, 'x')).status, 201)
  const during = keys('create', '--name', 'during')
  t.equal(await during.exited, 0)
  t.equal((await post(url, during.output().trim(), 'x')).status, 201)

  t.equal(await keys('revoke', '1').exited, 0)
  const revokedAt = performance.now()
  while ((await post(url, before, 'x')).status !== 401) {
    if (performance.now() - revokedAt > 10_000) throw new Error('a revoked key still works')
  }
  const listed = keys('list')
  t.equal(await listed.exited, 0)
  t.match(listed.output(), /^ID +NAME .* STATE\n1 +before .* revoked\n2 +during .* valid\n$/)
})

t.test('on a given DATABASE_URL no key is made, the log is JSON, and no key is ever in it', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const service = serve(t, { DATABASE_URL: databaseUrl, ENVIRONMENT: 'staging' })
  const url = await started(service)
  await ready(url)
  t.same(await query(databaseUrl, 'SELECT * FROM api_keys'), [])
  const made = run(t, [...script('src/api-keys/cli.ts'), 'create', '--name', 'x'], {
    env: { DATABASE_URL: databaseUrl }
  })
  t.equal(await made.exited, 0)
  const key = made.output().trim()
  const response = await post(url, key, 'x')
  t.equal(response.status, 201)
  t.equal((await post(url, 'petcat_wrong', 'x')).status, 401)
  service.child.kill('SIGINT')
  t.equal(await service.exited, 0)

  const lines = service
    .output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const requests = lines.filter(({ msg }) => msg === 'request')
  t.match(requests, [
    {
      reqId: response.headers.get('x-request-id'),
      method: 'POST',
      path: '/v1/categories',
      operation: 'createCategory',
      status: 201,
      key: '1'
    },
    { status: 401, key: undefined }
  ])
  t.notMatch(service.output(), /petcat_\w/)
})

t.test('npm run migrate brings a database up to date, and a start with MIGRATE_ON_START=false does not', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const service = serve(t, { DATABASE_URL: databaseUrl, MIGRATE_ON_START: 'false' })
  const url = await started(service)
  const ready = async () => (await fetch(`${url}/readyz`)).status
  t.equal(await ready(), 503)
  await service.sees(/migrations are pending \(0001_categories, [^)]*\): run `npm run migrate`; retrying/)
  t.equal((await fetch(`${url}/livez`)).status, 200)
  const migrated = run(t, script('src/migrate.ts'), { env: { DATABASE_URL: databaseUrl } })
  t.equal(await migrated.exited, 0)
  t.match(migrated.output(), 'The database is up to date.')
  t.equal(await ready(), 200)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  const failed = run(t, script('src/migrate.ts'), {
    env: { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/x' }
  })
  t.equal(await failed.exited, 1)
})

t.test('the scripts of package.json are the commands that these tests run', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  t.match(scripts, {
    start: 'exec node --import tsx src/main.ts',
    keys: 'exec node --import tsx src/api-keys/cli.ts',
    migrate: 'exec node --import tsx src/migrate.ts'
  })
  t.end()
})

t.test('four commands at once without a service, on a folder without a database, all succeed', async (t) => {
  const directory = t.testdir()
  const names = ['a', 'b', 'c', 'd']
  const made = names.map((name) =>
    run(t, [...script('src/api-keys/cli.ts'), 'create', '--name', name], { cwd: directory })
  )
  for (const { exited, output } of made) {
    t.equal(await exited, 0, output())
    t.match(output(), new RegExp(`^${keyPattern.source}\n$`))
  }
  t.same(readdirSync(path.join(directory, '.data')), ['postgres'])
  const listed = run(t, [...script('src/api-keys/cli.ts'), 'list', '--json'], { cwd: directory })
  t.equal(await listed.exited, 0)
  t.same((JSON.parse(listed.output()) as { name: string }[]).map(({ name }) => name).sort(), names)
})

t.test('the key command does not migrate a given database: it says in one line what to do', async (t) => {
  const databaseUrl = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const list = (env: Record<string, string>) => run(t, [...script('src/api-keys/cli.ts'), 'list'], { env })
  const pending = list({ DATABASE_URL: databaseUrl })
  t.equal(await pending.exited, 1)
  t.match(
    pending.output(),
    /^pet-categories: DATABASE_URL cannot be used: migrations are pending \(0001_categories, .*\): run `npm run migrate`\n$/
  )
  t.same(await query(databaseUrl, "SELECT to_regclass('pgmigrations') AS it"), [{ it: null }])
  const unreachable = list({ DATABASE_URL: 'postgres://postgres:secret@127.0.0.1:1/x' })
  t.equal(await unreachable.exited, 1)
  t.equal(unreachable.output(), 'pet-categories: DATABASE_URL cannot be used: connect ECONNREFUSED 127.0.0.1:1\n')
})
