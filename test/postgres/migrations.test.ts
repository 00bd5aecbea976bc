import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { PG_MIGRATE_LOCK_ID } from 'node-pg-migrate'
import pg from 'pg'
import t from 'tap'
import { checkMigrated, migrate } from '../../src/postgres/migrations.ts'
import { whenPossible } from '../../src/postgres/retry.ts'
import { createDatabase, lockAwaited, query, silent } from '../support/database.ts'
import { recorder } from '../support/log.ts'

t.test('migrations that start at the same time run once', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  await Promise.all([1, 2, 3].map(() => migrate({ url, timeout: 5000 }, silent)))
  const all = readdirSync('migrations')
    .sort()
    .map((file) => ({ name: file.replace('.sql', '') }))
  t.same(await query(url, 'SELECT name FROM pgmigrations ORDER BY id'), all)
})

t.test('a database in another encoding is rejected: it could not keep all text', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
  await t.rejects(migrate({ url, timeout: 5000 }, silent), {
    message: "the database must be encoded in UTF8, not LATIN1: create one with ENCODING 'UTF8'"
  })
})

t.test('a migration that fails is named', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  await query(url, 'CREATE TABLE api_keys (x text)')
  await t.rejects(migrate({ url, timeout: 5000 }, silent), {
    message: 'migration 0002_api_keys failed: relation "api_keys" already exists'
  })
  t.same(await query(url, "SELECT to_regclass('categories') AS it"), [{ it: null }], 'nothing was changed')
})

t.test('a check of the migrations changes nothing, and names those that are pending', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const check = () => checkMigrated({ url, timeout: 5000 })
  await t.rejects(check(), { message: /^migrations are pending \(0001_categories, .*\): run `npm run migrate`$/ })
  t.same(await query(url, "SELECT to_regclass('pgmigrations') AS it"), [{ it: null }])
  await migrate({ url, timeout: 5000 }, silent)
  await check()
  await query(url, "DELETE FROM pgmigrations WHERE name = '0003_messages'")
  await t.rejects(check(), { message: 'migrations are pending (0003_messages): run `npm run migrate`' })
  await query(url, 'ALTER TABLE pgmigrations RENAME name TO other')
  await t.rejects(check(), { message: /column "name" does not exist/ })
})

/** A logger whose lines are counted, by their text. */
const told = (lines: Record<string, unknown>[]) => lines.map(({ msg }) => msg)

t.test(
  'a database that cannot be used is tried again and again; each reason is logged once, without a stack',
  async (t) => {
    const { lines, logger } = recorder()
    const stopping = new AbortController()
    const { signal } = stopping
    let attempts = 0
    const server = createServer((socket) => {
      attempts++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const unusable = `postgres://postgres:secret@127.0.0.1:${port}/x`
    const latin = await createDatabase(t, "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    const right = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
    const urls = [unusable, unusable, latin, unusable, right]
    await whenPossible(() => migrate({ url: String(urls.shift()), timeout: 5000, signal }, logger), logger, signal)
    t.equal(attempts, 3)
    t.match(told(lines).slice(0, 2), [
      /^the database is not ready: cannot connect with DATABASE_URL: .+; retrying at least every 5 s$/,
      /^the database is not ready: the database must be encoded in UTF8, not LATIN1: .*; retrying at least every 5 s$/
    ])
    t.equal(told(lines).at(-1), 'the database is ready')
    t.same(
      lines.filter(({ level }) => level === 50).map(({ err }) => err),
      [undefined, undefined]
    )
    t.notMatch(JSON.stringify(lines), /secret/)
  }
)

t.test('a signal ends a migration at once, whatever it waits for', async (t) => {
  const silentServer = createServer((socket) => t.teardown(() => socket.destroy())).listen(0, '127.0.0.1')
  t.teardown(() => silentServer.close())
  await once(silentServer, 'listening')
  const { port } = silentServer.address() as AddressInfo
  const connecting = new AbortController()
  silentServer.once('connection', () => connecting.abort())
  const options = { url: `postgres://postgres@127.0.0.1:${port}/x`, timeout: 600_000, signal: connecting.signal }
  await whenPossible(() => migrate(options, silent), silent, connecting.signal)

  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`SELECT pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`)
  const locked = new AbortController()
  const waiting = migrate({ url, timeout: 600_000, signal: locked.signal }, silent)
  await lockAwaited(url)
  locked.abort()
  await t.rejects(waiting, /the migrations failed/)
})
