import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startEmbeddedPostgres } from '../../../src/framework/embedded/postgres.ts'
import {
  createLinks,
  embeddedPrograms,
  giveToUnusedUser,
  programEnvironment
} from '../../../src/framework/embedded/programs.ts'
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

t.test('a first start removes what killed first starts left', async (t) => {
  const directory = t.testdir({
    'photo.jpg': '',
    'initdb-x': { postgres: { PG_VERSION: '18' } },
    'initdb-y': {}
  })

  const server = await startEmbeddedPostgres(directory, silent)
  t.same(readdirSync(directory), ['photo.jpg', 'postgres'])
  t.same(await query(server.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await server.stop()
})

t.test(
  'of two first starts on one folder, the slower uses the data of the faster',
  async (t) => {
    const directory = temporaryFolder(t)
    const slower = startEmbeddedPostgres(directory, silent)
    mkdirSync(path.join(directory, 'postgres/faster'), { recursive: true })

    await t.rejects(slower, {
      message: /^DATA_DIR cannot be used: PostgreSQL did not start: ./
    })
    t.same(readdirSync(path.join(directory, 'postgres')), ['faster'])
    t.same(readdirSync(directory), ['postgres'])
  }
)

t.test(
  'a command shares the server of a service, and a service waits for it',
  async (t) => {
    const directory = temporaryFolder(t)
    copyData(directory)
    const first = await startEmbeddedPostgres(directory, silent)
    const command = await startEmbeddedPostgres(directory, silent, true)
    t.equal(command.url, first.url)
    await command.stop()
    t.same(await query(first.url, 'SELECT 1 AS one'), [{ one: 1 }])

    const second = await startEmbeddedPostgres(
      directory,
      onWait(() => first.stop())
    )
    t.not(second.url, first.url)
    await second.stop()
    for (const { url } of [first, second]) {
      const socket = new URL(url).searchParams.get('host') ?? ''
      t.notOk(existsSync(socket), 'nothing stays in the temporary folder')
    }
  }
)

t.test('a command starts a server where a killed one was', async (t) => {
  const directory = temporaryFolder(t)
  copyData(directory)
  const { pid } = spawnSync('true')
  writeFileSync(
    path.join(directory, 'postgres/postmaster.pid'),
    `${pid}\n\n\n\n/tmp/embedded-postgres-gone\n`
  )

  const server = await startEmbeddedPostgres(directory, silent, true)
  t.same(await query(server.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await server.stop()
})

t.test('a service waits for a server that does not respond', async (t) => {
  const directory = temporaryFolder(t)
  copyData(directory)
  await startEmbeddedPostgres(directory, silent)
  const lockFile = path.join(directory, 'postgres/postmaster.pid')
  const pid = parseInt(readFileSync(lockFile, 'utf8'))
  process.kill(pid, 'SIGSTOP')

  const log = onWait(() => process.kill(pid, 'SIGKILL'))
  const service = await startEmbeddedPostgres(directory, log)
  t.same(await query(service.url, 'SELECT 1 AS one'), [{ one: 1 }])
  await service.stop()
})

/** Asserts that a start fails immediately, for this reason, in one line. */
async function failsAtOnce(t: Test, directory: string, reason: string) {
  const log = onWait(() => t.fail('it waits'))
  const remedy = 'correct this, or set DATA_DIR to another folder'
  await t.rejects(startEmbeddedPostgres(directory, log), {
    message: new RegExp(`^DATA_DIR cannot be used: ${reason}: ${remedy}$`)
  })
}

t.test('a folder that PostgreSQL cannot use', async (t) => {
  const directory = temporaryFolder(t)
  copyData(directory)
  mkdirSync(path.join(directory, 'postgres/postmaster.pid'))
  await failsAtOnce(
    t,
    directory,
    'PostgreSQL did not start: could not read lock file "postmaster\\.pid": .+'
  )
})

const runs = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

const disk = temporaryFolder(t)
t.teardown(() => runs('umount', disk))
const withMounts = runs('mount', '-t', 'tmpfs', '-o', 'size=8M', 'none', disk)
  ? {}
  : { skip: 'mount is not permitted' }

t.test('a disk that is full, or read-only', withMounts, async (t) => {
  await failsAtOnce(t, disk, 'initdb failed: .*No space left on device')
  t.ok(runs('mount', '-o', 'remount,ro', disk))
  await failsAtOnce(t, disk, 'EROFS: .*')
})

/** A folder without data. */
const noData = '/no/such/folder'

t.test('links that npm cannot pack are created, or the fault is named', (t) => {
  const links = [{ source: 'native/lib/a.1', target: 'native/lib/a' }]
  const folder = t.testdir({
    native: { 'pg-symlinks.json': JSON.stringify(links), lib: { 'a.1': 'x' } }
  })
  const link = path.join(folder, 'native/lib/a')
  createLinks(folder)
  t.equal(readFileSync(link, 'utf8'), 'x')
  createLinks(folder)

  // It exists, but leads nowhere.
  unlinkSync(link)
  symlinkSync('/no/such/file', link)
  t.throws(() => createLinks(folder), {
    message:
      /^npm has not .*: EEXIST: .*: as the owner of node_modules, run `npm ci/
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

t.test('another user runs PostgreSQL directly', (t) => {
  // Every system has it.
  intercept(t, 1)
  t.equal(embeddedPrograms(noData)('initdb').length, 1)
  giveToUnusedUser(noData)

  const existing = t.testdir()
  intercept(t, 54321)
  t.equal(embeddedPrograms(existing)('postgres').length, 1)
  t.end()
})

for (const uid of [0, 54321]) {
  t.test(`a machine that cannot run it for user ${uid} is reported`, (t) => {
    intercept(t, uid)
    const { PATH } = process.env
    process.env['PATH'] = '/no/such/folder'
    t.teardown(() => {
      process.env['PATH'] = PATH
    })
    t.throws(() => embeddedPrograms(noData)('initdb'), {
      message: /^PostgreSQL rejects root and .*: set DATABASE_URL, or/
    })
    t.end()
  })
}

const forRoot = process.getuid?.() === 0 ? {} : { skip: 'only root' }

t.test('initdb runs as a user that has a name', forRoot, (t) => {
  intercept(t, 54321)
  const prefix = embeddedPrograms(noData)('initdb').slice(0, -1)
  const asNumber = ['--reuid=54321', '--regid=54321', '--clear-groups']
  t.notOk(runs('setpriv', ...asNumber, 'id', '-un'))
  t.ok(runs('setpriv', ...asNumber, ...prefix, 'id', '-un'))
  t.end()
})

/** The npm package of PostgreSQL. */
const packageFolder = path.resolve(
  embeddedPrograms(noData)('postgres').at(-1) ?? '',
  '../../..'
)

/** A folder that only root can enter, with the programs of PostgreSQL. */
function closedFolder(t: Test): string {
  // Memory may be mounted so that it runs no programs.
  const directory = t.testdir()
  chmodSync(directory, 0o700)
  cpSync(path.join(packageFolder, 'native'), path.join(directory, 'native'), {
    recursive: true,
    verbatimSymlinks: true
  })
  return directory
}

t.test(
  'root starts programs in a folder that only root can enter',
  forRoot,
  (t) => {
    const directory = closedFolder(t)
    const data = path.join(directory, 'data')
    const [setpriv = '', ...args] = embeddedPrograms(data)('initdb')
    args.pop()
    const copy = path.join(directory, 'native/bin/initdb')
    t.ok(runs(setpriv, ...args, copy, '-N', data))

    // Data that PostgreSQL's user has written elsewhere give it no capability.
    const [, ...others] = embeddedPrograms(data)('postgres')
    others.pop()
    t.notOk(runs(setpriv, ...others, 'ls', data))
    t.end()
  }
)

t.test(
  'the data of root belong to a user that has no other process',
  forRoot,
  async (t) => {
    const directory = temporaryFolder(t)
    const server = await startEmbeddedPostgres(directory, silent)
    const data = path.join(directory, 'postgres')
    const { uid, gid } = statSync(data)
    const processes = spawnSync('ps', ['-eo', 'uid,args'], {
      encoding: 'utf8'
    }).stdout
    await server.stop()

    t.equal(gid, uid)
    t.not(runs('id', '-nu', String(uid)), true)
    const others = processes
      .split('\n')
      .filter((line) => parseInt(line) === uid && !line.includes('postgres'))
    t.same(others, [])
    const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups']
    t.notOk(runs('setpriv', ...asNobody, 'ls', data))
  }
)

/** Effective capabilities of the server, by the owner of the data. */
const capabilities = { 0: '0+2', 12345: '0+' }

for (const [owner, mask] of Object.entries(capabilities)) {
  t.test(`root starts on the data of user ${owner}`, forRoot, async (t) => {
    // In a folder that others can enter, as TMPDIR may not be.
    const directory = mkdtempSync('/tmp/petcat-test-')
    t.teardown(() => rmSync(directory, { recursive: true }))
    copyData(directory)
    execFileSync('chown', ['-R', `${owner}:${owner}`, directory])

    const server = await startEmbeddedPostgres(directory, silent)
    t.same(await query(server.url, 'SELECT 1 AS one'), [{ one: 1 }])
    const lockFile = path.join(directory, 'postgres/postmaster.pid')
    const pid = parseInt(readFileSync(lockFile, 'utf8'))
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    t.match(status, new RegExp(`^CapEff:\\t${mask}$`, 'm'))
    await server.stop()
  })
}

/** What a developer's shell may have for another server. */
const shell = {
  PGHOST: '192.0.2.1',
  PGPORT: '1',
  PGUSER: 'me',
  PGPASSWORD: 'x',
  PGDATABASE: 'mine',
  PGOPTIONS: '-c none=1',
  PGSSLMODE: 'verify-full',
  PGSSLNEGOTIATION: 'direct',
  PGREPLICATION: 'true',
  PGCLIENT_ENCODING: 'latin1',
  PGAPPNAME: 'mine',
  PGSERVICE: 'mine',
  PGDATA: '/none',
  PGTZ: 'Asia/Tokyo',
  LC_ALL: 'tr_TR.UTF-8',
  TZ: 'Asia/Tokyo'
}

t.test("nothing of the shell's environment changes the server", async (t) => {
  for (const [name, value] of Object.entries(shell)) {
    const before = process.env[name]
    process.env[name] = value
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  const server = await startEmbeddedPostgres(temporaryFolder(t), silent)
  t.match(
    await query(
      server.url,
      `SELECT current_user AS user, current_database() AS database,
        current_setting('TimeZone') AS zone, current_setting('lc_messages') AS lc,
        current_setting('application_name') AS application,
        current_setting('client_encoding') AS encoding`
    ),
    [
      {
        user: 'postgres',
        database: 'postgres',
        zone: 'UTC',
        lc: 'C',
        application: '',
        encoding: 'UTF8'
      }
    ]
  )
  await server.stop()
  t.same(Object.keys(programEnvironment), ['PATH', 'TZ'])
})
