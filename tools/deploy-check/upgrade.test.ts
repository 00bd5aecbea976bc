// An upgrade from the code of the last release, under load, and the way back.
// Run by `npm run upgrade --prefix tools/deploy-check`, which takes a minute.
import { rmSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { api } from '../../src/handlers/index.ts'
import {
  createDatabase,
  empty,
  migrate,
  query
} from '../../test/support/database.ts'
import {
  call,
  keyPattern,
  run,
  script,
  serve,
  started
} from '../../test/support/process.ts'
import {
  createKeyed,
  startClients,
  type Target
} from '../../test/support/resend.ts'
import { seed } from '../../test/support/scale.ts'
import { build, lastRelease } from './last-release.ts'
import { describeSchema } from './schema.ts'

const revision = lastRelease()
t.comment(`the last release is ${revision}`)
const releaseFolder = build(revision)
t.teardown(() => rmSync(releaseFolder, { recursive: true }))

const databaseUrl = await createDatabase(t, empty)
const variables = {
  DATABASE_URL: databaseUrl,
  // Only built code: the tests' loader of TypeScript is not needed.
  NODE_OPTIONS: '',
  PORT: '0',
  MAX_REQUESTS_PER_MINUTE: '0'
}

/** The command line of a program of the last release. */
const released = (program: string, ...options: string[]) => [
  process.execPath,
  path.join(releaseFolder, 'dist/src', program),
  ...options
]

const startReleased = () =>
  run(t, released('main.js'), { cwd: releaseFolder, env: variables })

/** Runs a program of the last release to its end. Returns its output. */
async function runReleased(...command: string[]): Promise<string> {
  const options = { cwd: releaseFolder, env: variables }
  const { code, output } = await call(t, command, options)
  if (code !== 0) throw new Error(output)
  return output
}

const pathsToCompare = [
  '/v1/pets',
  '/v1/pets?status=available&limit=1',
  '/v1/pets/1',
  '/v1/store/orders'
]

/** What a client receives, without headers that may differ between versions. */
async function read({ url, key }: Target, resource: string) {
  const response = await fetch(url + resource, {
    headers: { authorization: `Bearer ${key}` }
  })
  return { status: response.status, body: await response.text() }
}

const readAll = (target: Target) =>
  Promise.all(pathsToCompare.map((resource) => read(target, resource)))

/** The path of the next page of pets, from the Link header. */
async function nextPage({ url, key }: Target): Promise<string> {
  const response = await fetch(`${url}/v1/pets?limit=1`, {
    headers: { authorization: `Bearer ${key}` }
  })
  const link = response.headers.get('link') ?? ''
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(link) ?? []
  return new URL(next, `${url}/v1/pets`).href.slice(url.length)
}

const countMigrations = async () =>
  (await query(databaseUrl, 'SELECT FROM pgmigrations')).length

const oldService = startReleased()
const oldUrl = await started(oldService)
const created = await runReleased(
  ...released('commands/keys.js', 'create', '--name', 'upgrade')
)
const [key = ''] = keyPattern.exec(created) ?? []
const resource = 'categories'
const old: Target = { url: oldUrl, key, resource }
await runReleased(
  process.execPath,
  '--import',
  import.meta.resolve('tsx'),
  path.join(releaseFolder, 'tools/seed.ts')
)
const seeded = await query(databaseUrl, 'SELECT id, name FROM categories')
const migrations = await countMigrations()

t.test(
  'an upgrade under load fails no request and keeps the data',
  async (t) => {
    const before = await readAll(old)
    const secondPage = await nextPage(old)
    const pageBefore = await read(old, secondPage)
    const original = await createKeyed(old, 'before-the-upgrade', 'Hamster')

    const targets = [old]
    const clients = startClients(targets, seed)
    t.teardown(() => clients.stop(() => Promise.resolve([])))
    await clients.stores(200)

    const migration = await call(t, script('src/commands/migrate.ts'), {
      env: { DATABASE_URL: databaseUrl }
    })
    t.equal(migration.code, 0, migration.output)
    t.ok((await countMigrations()) >= migrations, 'migrations only add')
    await clients.stores(200)

    const current: Target = {
      url: await started(serve(t, { DATABASE_URL: databaseUrl })),
      key,
      resource
    }
    targets.push(current)
    await clients.stores(200)

    targets.shift()
    t.equal(await oldService.stop(), 0, 'the last release ends')
    await clients.stores(200)

    const ids = "SELECT id, name FROM categories WHERE name <> 'Hamster'"
    const rows = async () => {
      const all = await query(databaseUrl, ids)
      return all.slice(seeded.length)
    }
    t.same(await clients.stop(rows), [], 'no create is lost or doubled')
    t.same(clients.failures, {}, 'no request failed')

    t.same(await readAll(current), before, 'the same bodies')
    t.same(await read(current, secondPage), pageBefore, 'an old cursor')
    const replay = await createKeyed(current, 'before-the-upgrade', 'Hamster')
    t.same(replay, { ...original, isReplayed: true }, 'an old Idempotency-Key')
  }
)

t.test('an upgraded database has the schema of a new one', async (t) => {
  const newUrl = await createDatabase(t, empty)
  await migrate(newUrl, {}, [api.migrations])
  t.same(await describeSchema(databaseUrl), await describeSchema(newUrl))
})

t.test('the last release still works on the new schema', async (t) => {
  const current: Target = {
    url: await started(serve(t, { DATABASE_URL: databaseUrl })),
    key,
    resource
  }
  const fromCurrent = await createKeyed(current, 'before-the-way-back', 'Rat')
  const rolledBack: Target = {
    url: await started(startReleased()),
    key,
    resource
  }

  t.same(await readAll(rolledBack), await readAll(current))
  const replay = await createKeyed(rolledBack, 'before-the-way-back', 'Rat')
  t.same(replay, { ...fromCurrent, isReplayed: true }, 'a new Idempotency-Key')
  t.match(await createKeyed(rolledBack, 'after-it', 'Mouse'), { status: 201 })
})
