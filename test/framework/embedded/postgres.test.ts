import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync
} from 'node:fs'
import path from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { prepareData } from '../../../src/framework/embedded/data-folder.ts'
import { startEmbeddedPostgres } from '../../../src/framework/embedded/postgres.ts'
import {
  createLinks,
  embeddedPrograms,
  giveToUnusedUser,
  programEnvironment,
  reasonIn
} from '../../../src/framework/embedded/programs.ts'
import { findServer } from '../../../src/framework/embedded/server.ts'
import {
  copyData,
  temporaryFolder,
  query,
  silent
} from '../../support/database.ts'

/** A logger that calls `act` when a start waits for the folder. */
const onWait = (act: () => unknown) =>
  pino(
    { level: 'info' },
    { write: (line: string) => line.includes('waiting') && act() }
  )

/** A script in the place of initdb: its second argument is the new folder. */
const initdb = (script: string) => ['sh', '-c', script, 'initdb']

t.test('a first start removes what killed first starts left', async (t) => {
  const directory = t.testdir({
    'photo.jpg': '',
    'initdb-x': { postgres: { PG_VERSION: '18' } }
  })
  await prepareData(directory, initdb('mkdir "$2"'))
  t.same(readdirSync(directory), ['photo.jpg', 'postgres'])
})

t.test(
  'of two first starts on one folder, the slower uses the data of the faster',
  async (t) => {
    const directory = t.testdir()
    const ofFaster = path.join(directory, 'postgres/faster')
    await prepareData(directory, initdb(`mkdir -p "$2" ${ofFaster}`))
    t.ok(existsSync(ofFaster))
    t.same(readdirSync(directory), ['postgres'])
  }
)

/** A folder without data. */
const noData = '/no/such/folder'

t.test('the reason why initdb fails is told', async (t) => {
  const faulty = [...embeddedPrograms(noData)('initdb'), '--wal-segsize=3']
  await t.rejects(prepareData(t.testdir(), faulty), {
    message: /^initdb failed: argument of --wal-segsize must be .+$/
  })
})

t.test(
  'a command shares the server of a service, and a service waits for it',
  async (t) => {
    const directory = temporaryFolder(t)
    copyData(directory)
    const first = await startEmbeddedPostgres(directory, silent)
    const command = await startEmbeddedPostgres(directory, silent, true)
    t.equal(command.url, first.url)
    await command.stop()
    await t.resolves(query(first.url, 'SELECT'))

    const second = await startEmbeddedPostgres(
      directory,
      onWait(() => first.stop())
    )
    t.not(second.url, first.url)
    await second.stop()
  }
)

t.test('a server that was killed is not shared', async (t) => {
  const lockFile = '1\n\n\n\n/tmp/embedded-postgres-gone\n'
  const directory = t.testdir({ postgres: { 'postmaster.pid': lockFile } })
  t.equal(await findServer(directory), undefined)
})

t.test('a folder that PostgreSQL cannot use fails at once', async (t) => {
  const directory = temporaryFolder(t)
  copyData(directory)
  mkdirSync(path.join(directory, 'postgres/postmaster.pid'))

  const log = onWait(() => t.fail('it waits'))
  await t.rejects(startEmbeddedPostgres(directory, log), {
    message:
      /^DATA_DIR cannot be used: PostgreSQL did not start: could not read lock file .+: correct this, or set DATA_DIR to another folder$/
  })
})

t.test('links that npm cannot pack are created, or the fault is named', (t) => {
  const links = [{ source: 'native/lib/a.1', target: 'native/lib/a' }]
  const folder = t.testdir({
    native: { 'pg-symlinks.json': JSON.stringify(links), lib: { 'a.1': 'x' } }
  })
  const link = path.join(folder, 'native/lib/a')
  createLinks(folder)
  t.equal(readFileSync(link, 'utf8'), 'x')

  rmSync(path.dirname(link), { recursive: true })
  t.throws(() => createLinks(folder), {
    message:
      /^npm has not .*: ENOENT: .*: as the owner of node_modules, run `npm ci/
  })
  t.end()
})

t.test('a machine without PostgreSQL is reported', (t) => {
  t.intercept(process, 'arch', { value: 'sparc' })
  t.throws(() => embeddedPrograms(noData), {
    message: /^\S+-sparc, the embedded .* not installed: run `npm ci` with .*$/
  })
  t.end()
})

/** Makes this process one of this user. */
const intercept = (t: Test, uid: number) =>
  t.intercept(process, 'getuid', { value: () => uid })

/** A user that no system has. */
const withoutName = 54321

t.test('another user runs PostgreSQL directly', (t) => {
  // Every system has it.
  intercept(t, 1)
  t.equal(embeddedPrograms(noData)('initdb').length, 1)
  giveToUnusedUser(noData)

  const existing = t.testdir()
  intercept(t, withoutName)
  t.equal(embeddedPrograms(existing)('postgres').length, 1)
  t.end()
})

t.test('a machine that cannot run it for a user is reported', (t) => {
  intercept(t, withoutName)
  t.intercept(process, 'env', { value: { PATH: '/no/such/folder' } })
  t.throws(() => embeddedPrograms(noData)('initdb'), {
    message: /^PostgreSQL rejects root and .*: set DATABASE_URL, or/
  })
  t.end()
})

const forRoot = process.getuid?.() === 0 ? {} : { skip: 'only root' }

const runs = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

t.test('initdb runs as a user that has a name', forRoot, (t) => {
  intercept(t, withoutName)
  const prefix = embeddedPrograms(noData)('initdb').slice(0, -1)
  const asUser = [`--reuid=${withoutName}`, '--clear-groups']
  t.ok(runs('setpriv', ...asUser, ...prefix, 'id', '-un'))
  t.end()
})

t.test(
  'root starts programs in a folder that only root can enter',
  forRoot,
  (t) => {
    const prefix = embeddedPrograms(noData)('initdb').slice(0, -1)
    const closed = t.testdir({ file: '' })
    chmodSync(closed, 0o700)
    // Like PostgreSQL, it asks access().
    t.ok(runs('env', ...prefix, 'test', '-r', path.join(closed, 'file')))
    t.end()
  }
)

/** Lets root start on data of this user. Returns as whom PostgreSQL runs. */
async function startOnDataOf(t: Test, owner: number) {
  // In a folder that others can enter, as TMPDIR may not be.
  const directory = mkdtempSync('/tmp/petcat-test-')
  t.teardown(() => rmSync(directory, { recursive: true }))
  copyData(directory)
  execFileSync('chown', ['-R', `${owner}:${owner}`, directory])

  const server = await startEmbeddedPostgres(directory, silent)
  const lockFile = path.join(directory, 'postgres/postmaster.pid')
  const pid = parseInt(readFileSync(lockFile, 'utf8'))
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  await server.stop()
  const [, uid] = /^Uid:\t(\d+)/m.exec(status) ?? []
  const [, capabilities] = /^CapEff:\t(\w+)/m.exec(status) ?? []

  return { uid: Number(uid), capabilities: parseInt(capabilities ?? '', 16) }
}

t.test('the data of root belong to an unused user', forRoot, async (t) => {
  const { uid, capabilities } = await startOnDataOf(t, 0)
  t.notOk(runs('id', '-nu', String(uid)), 'the user has no name')
  t.equal(capabilities, 2, 'it may enter any folder')
})

t.test('data of another user give it no capability', forRoot, async (t) => {
  const runner = await startOnDataOf(t, 12345)
  t.same(runner, { uid: 12345, capabilities: 0 })
})

/** What a developer's shell may have. */
const shell = { PGPORT: '1', PGOPTIONS: '-c none=1', TZ: 'Asia/Tokyo' }

t.test("nothing of the shell's environment changes the server", async (t) => {
  t.intercept(process, 'env', { value: { ...process.env, ...shell } })
  const server = await startEmbeddedPostgres(temporaryFolder(t), silent)
  t.same(await query(server.url, 'SHOW timezone'), [{ TimeZone: 'UTC' }])
  await server.stop()
  t.same(Object.keys(programEnvironment), ['PATH', 'TZ'])
})

t.test('a program that gives no error failed for its last line', (t) => {
  t.equal(reasonIn('starting\nno such file\n'), 'no such file')
  t.end()
})
