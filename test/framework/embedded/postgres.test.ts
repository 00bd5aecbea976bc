import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startEmbeddedPostgres } from '../../../src/framework/embedded/postgres.ts'
import { embeddedPrograms } from '../../../src/framework/embedded/programs.ts'
import { copyData, query, silent } from '../../support/database.ts'

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
    const directory = t.testdir()
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
    const directory = t.testdir()
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
  const directory = t.testdir()
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
  const directory = t.testdir()
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
  const directory = t.testdir()
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

const disk = mkdtempSync(path.join(tmpdir(), 'petcat-disk-'))
t.teardown(() => {
  runs('umount', disk)
  rmSync(disk, { recursive: true })
})
const withMounts = runs('mount', '-t', 'tmpfs', '-o', 'size=8M', 'none', disk)
  ? {}
  : { skip: 'mount is not permitted' }

t.test('a disk that is full, or read-only', withMounts, async (t) => {
  await failsAtOnce(t, disk, 'initdb failed: .*No space left on device')
  t.ok(runs('mount', '-o', 'remount,ro', disk))
  await failsAtOnce(t, disk, 'EROFS: .*')
})

t.test('links that npm cannot pack are created', (t) => {
  const link = path.resolve(
    embeddedPrograms()('postgres').at(-1) ?? '',
    '../../lib/libecpg_compat.so'
  )
  if (existsSync(link)) unlinkSync(link)
  embeddedPrograms()
  t.equal(existsSync(link), process.platform === 'linux')
  t.end()
})

t.test(
  'a machine without PostgreSQL, or on which root cannot run it, is reported',
  (t) => {
    t.intercept(process, 'getuid', { value: () => 1000 })
    t.equal(
      embeddedPrograms()('initdb').length,
      1,
      'another user runs it directly'
    )

    t.intercept(process, 'getuid', { value: () => 0 })
    const { PATH } = process.env
    process.env['PATH'] = '/no/such/folder'
    t.teardown(() => {
      process.env['PATH'] = PATH
    })
    t.throws(embeddedPrograms, {
      message: /^PostgreSQL does not run as root.*: set DATABASE_URL, or/
    })

    t.intercept(process, 'arch', { value: 'sparc' })
    t.throws(embeddedPrograms, {
      message:
        /^\S+-sparc, the embedded .* not installed: run `npm ci` with .*$/
    })
    t.end()
  }
)

const forRoot = process.getuid?.() === 0 ? {} : { skip: 'only root' }

t.test(
  'root starts programs in a folder that only root can enter',
  forRoot,
  (t) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
    t.teardown(() =>
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
    )
    const [setpriv = '', ...args] = embeddedPrograms()('initdb')
    const binaries = path.resolve(args.pop() ?? '', '../..')
    t.ok(runs('cp', '-r', binaries, directory))

    const copy = path.join(directory, 'native/bin/initdb')
    t.ok(runs(setpriv, ...args, copy, '-N', path.join(directory, 'x')))
    t.end()
  }
)
