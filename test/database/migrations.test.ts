import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { migrate, migrateWhenPossible } from '../../src/database/migrations.ts'
import { createDatabase, query, silent } from '../support/database.ts'
import { recorder } from '../support/log.ts'

t.test('migrations that start at the same time run once', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  await Promise.all([1, 2, 3].map(() => migrate({ url, timeout: 5000 }, silent)))
  const all = readdirSync('migrations')
    .sort()
    .map((file) => ({ name: file.replace('.sql', '') }))
  t.same(await query(url, 'SELECT name FROM pgmigrations ORDER BY id'), all)
})

t.test('a database in another encoding is refused: it could not keep all text', async (t) => {
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
  await t.rejects(migrate({ url, timeout: 5000 }, silent), {
    message: 'The database must be encoded in UTF8, not LATIN1'
  })
})

t.test('a database that cannot be reached is tried again and again, and that is said once', async (t) => {
  const { lines, logger } = recorder()
  const stopping = new AbortController()
  let attempts = 0
  const server = createServer((socket) => {
    if (++attempts === 3) stopping.abort()
    socket.destroy()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await migrateWhenPossible({ url: `postgres://postgres@127.0.0.1:${port}/x`, timeout: 5000 }, logger, stopping.signal)
  t.equal(attempts, 3)
  t.match(lines, [{ level: 50, msg: 'the database is not ready; trying again' }])
  t.equal(lines.length, 1)
})
