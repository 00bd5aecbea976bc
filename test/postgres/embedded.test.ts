import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { findBinaries, unprivileged } from '../../src/postgres/embedded/binaries.ts'
import { startEmbeddedPostgres } from '../../src/postgres/embedded/embedded.ts'
import { accepts, findService, urlOf } from '../../src/postgres/embedded/running.ts'
import { runWatched } from '../../src/postgres/embedded/watched.ts'
import { copyData, query, silent } from '../support/database.ts'
import { until } from '../support/until.ts'

/** A folder that only its owner can enter. */
function closedFolder(t: Test): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Puts shell scripts first in PATH during a test. */
function withPrograms(t: Test, programs: Record<string, string>): void {
  const folder = closedFolder(t)
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
  const before = process.env['PATH']
  process.env['PATH'] = `${folder}:${before}`
  t.teardown(() => (process.env['PATH'] = before))
}

/** The id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn('true')
  await once(child, 'exit')
  return child.pid ?? 0
}

/** A logger that calls `act` when a line has the text. */
const onLine = (text: string, act: () => void) =>
  pino({ level: 'info' }, { write: (line: string) => line.includes(text) && act() })

t.test('a start removes what killed first starts left, and a running first start keeps its folder', async (t) => {
  const killed = `initdb-${await deadPid()}-x`
  const earlier = `initdb-${process.pid}-x` // The processes of a container have the same ids after each start.
  const running = `initdb-${process.ppid}-x`
  const directory = t.testdir({ [killed]: { PG_VERSION: '18' }, [earlier]: {}, [running]: {} })
  const server = await startEmbeddedPostgres(directory, silent)
  t.teardown(() => server.stop())
  t.same(readdirSync(directory).sort(), [running, 'postgres'])
  t.same(await query(server.url, 'SELECT 1 AS one'), [{ one: 1 }])
})

t.test('a command uses the server of a running service, and a second service is rejected', async (t) => {
  const directory = t.testdir()
  t.equal(await findService(directory), undefined)
  copyData(directory)
  const service = await startEmbeddedPostgres(directory, silent)
  const command = await startEmbeddedPostgres(directory, silent, { startedBy: 'command' })
  t.equal(command.url, service.url)
  await command.stop()
  t.same(await query(service.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await t.rejects(startEmbeddedPostgres(directory, silent), {
    message: `Already running from this folder (PID ${process.pid}): set DATA_DIR for a second one`
  })
  const socket = new URL(service.url).searchParams.get('host') ?? ''
  t.ok(existsSync(socket))
  await service.stop()
  t.notOk(existsSync(socket), 'nothing stays in the temporary folder')
  t.equal(await findService(directory), undefined)
})

t.test('a start waits for a command, until a signal', async (t) => {
  const directory = t.testdir()
  copyData(directory)
  const command = await startEmbeddedPostgres(directory, silent, { startedBy: 'command' })
  const signalled = new AbortController()
  const log = onLine('waiting for another process', () => signalled.abort())
  await t.rejects(startEmbeddedPostgres(directory, log, { signal: signalled.signal }), { name: 'AbortError' })

  const stop = onLine('waiting for another process', () => void command.stop())
  const service = await startEmbeddedPostgres(directory, stop)
  t.teardown(() => service.stop())
  t.not(service.url, command.url)
})

t.test('a server that a killed service left behind is not used, and not waited for without end', async (t) => {
  const directory = t.testdir()
  copyData(directory)
  const binaries = findBinaries()
  const socket = mkdtempSync(path.join(tmpdir(), `petcat-service-${await deadPid()}-`))
  const options = ['-D', path.join(directory, 'postgres'), '-k', socket, '-c', 'listen_addresses=']
  const left = runWatched([...unprivileged(binaries, directory), path.join(binaries, 'postgres'), ...options], socket)
  await until(() => accepts(urlOf(socket)), 'the server accepts connections')
  const { performance } = globalThis
  let minutes = 0
  t.intercept(globalThis, 'performance', { value: { now: () => minutes++ * 61_000 } })
  await t.rejects(startEmbeddedPostgres(directory, silent), { message: /postmaster\.pid.* already exists/ })
  t.intercept(globalThis, 'performance', { value: performance })

  const [pid] = readFileSync(path.join(directory, 'postgres/postmaster.pid'), 'utf8').split('\n')
  process.kill(Number(pid), 'SIGSTOP') // It keeps the folder and does not respond.
  const log = onLine('waiting for another process', () => process.kill(Number(pid), 'SIGKILL'))
  const service = await startEmbeddedPostgres(directory, log)
  t.teardown(() => service.stop())
  t.same(await query(service.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await left.ended
})

t.test('a signal during the creation of the database ends the start and leaves nothing', async (t) => {
  const directory = t.testdir()
  const stopping = new AbortController()
  const log = onLine('creating', () => setImmediate(() => stopping.abort()))
  await t.rejects(startEmbeddedPostgres(directory, log, { signal: stopping.signal }))
  t.same(readdirSync(directory), [])
})

t.test('of two first starts on one folder the slower uses the data of the faster', async (t) => {
  const directory = t.testdir()
  const log = onLine('creating', () => mkdirSync(path.join(directory, 'postgres/faster'), { recursive: true }))
  await t.rejects(startEmbeddedPostgres(directory, log), { message: /^PostgreSQL did not start on DATA_DIR/ })
  t.same(readdirSync(path.join(directory, 'postgres')), ['faster'])
  t.same(readdirSync(directory), ['postgres'])
})

t.test('an unusable folder is reported as DATA_DIR', async (t) => {
  const directory = t.testdir({ file: '' })
  await t.rejects(startEmbeddedPostgres(path.join(directory, 'file'), silent), {
    message: /^DATA_DIR cannot be used: EEXIST/
  })
  // Longer than PostgreSQL allows.
  const long = path.join(directory, ...Array.from({ length: 6 }, () => 'x'.repeat(200)))
  await t.rejects(startEmbeddedPostgres(long, silent), { message: /^DATA_DIR cannot hold a database: ./ })
  t.same(readdirSync(long), [])
})

t.test('links that npm cannot pack are created', (t) => {
  const link = path.resolve(findBinaries(), '../lib/libecpg_compat.so')
  if (existsSync(link)) unlinkSync(link)
  findBinaries()
  t.equal(existsSync(link), process.platform === 'linux')
  t.end()
})

t.test('the error on a machine without binaries says to set DATABASE_URL', (t) => {
  t.intercept(process, 'arch', { value: 'sparc' })
  t.throws(findBinaries, { message: /no embedded PostgreSQL for this machine \(\S+-sparc\): set DATABASE_URL/ })
  t.end()
})

const forRoot = process.getuid?.() === 0 ? {} : { skip: 'only root' }
const missing = 'exit 1'

t.test('only root runs PostgreSQL as another user, and fails without setpriv and unshare', (t) => {
  const folder = t.testdir()
  t.intercept(process, 'getuid', { value: () => 1000 })
  t.same(unprivileged(findBinaries(), folder), [])
  t.intercept(process, 'getuid', { value: () => 0 })
  withPrograms(t, { setpriv: missing, unshare: missing })
  t.throws(() => unprivileged(findBinaries(), folder), { message: /PostgreSQL does not run as root/ })
  t.end()
})

t.test('binaries in a folder that only root can enter run, with and without user namespaces', forRoot, (t) => {
  const folder = closedFolder(t)
  t.equal(spawnSync('cp', ['-r', path.resolve(findBinaries(), '..'), folder]).status, 0)
  const binaries = path.join(folder, 'native/bin')
  for (const program of ['setpriv', 'unshare']) {
    t.test(`without ${program}`, (t) => {
      withPrograms(t, { [program]: missing })
      const [used = '', ...args] = unprivileged(binaries, folder)
      t.not(used, program)
      const initdb = [path.join(binaries, 'initdb'), '-D', path.join(folder, `without-${program}`), '-A', 'trust', '-N']
      const { status, stderr } = spawnSync(used, [...args, ...initdb], { encoding: 'utf8' })
      t.equal(status, 0, stderr)
      t.end()
    })
  }
  t.end()
})

t.test('data that was created through setpriv starts through unshare, and the reverse', forRoot, async (t) => {
  const directory = closedFolder(t)
  copyData(directory)
  for (const [program, owner] of [
    ['unshare', 65534],
    ['setpriv', 0],
    ['unshare', 65534]
  ] as const) {
    await t.test(`without ${program}`, async (t) => {
      withPrograms(t, { [program]: missing })
      const server = await startEmbeddedPostgres(directory, silent)
      t.teardown(() => server.stop())
      t.equal(statSync(path.join(directory, 'postgres/base')).uid, owner)
      await query(server.url, 'CREATE TABLE IF NOT EXISTS kept (row text)')
      await query(server.url, 'INSERT INTO kept VALUES ($1)', [program])
      t.match(await query(server.url, 'SELECT row FROM kept'), [{ row: 'unshare' }])
    })
  }
})
