import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import {
  embeddedPrograms,
  startEmbeddedPostgres
} from '../../../src/framework/embedded/postgres.ts'
import { programEnvironment } from '../../../src/framework/embedded/programs.ts'
import { startServer } from '../../../src/framework/embedded/server.ts'
import { copyData, query, silent } from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import { until } from '../../support/until.ts'

/** A logger that calls `act` when a line has the text. */
const onLine = (text: string, act: () => unknown) =>
  pino(
    { level: 'info' },
    { write: (line: string) => line.includes(text) && act() }
  )

t.test('a machine without a shell is an error, not a crash', async (t) => {
  t.intercept(programEnvironment, 'PATH', { value: '/', enumerable: true })
  await t.rejects(startServer(['postgres'], 'command'), { code: 'ENOENT' })
})

t.test(
  'a first start removes what killed first starts left, and warns of other files',
  async (t) => {
    const directory = t.testdir({
      'photo.jpg': '',
      'initdb-x': { postgres: { PG_VERSION: '18' } },
      'initdb-y': {}
    })

    const { lines, log } = recorder()
    const server = await startEmbeddedPostgres(directory, 'service', log)
    t.same(readdirSync(directory), ['photo.jpg', 'postgres'])
    t.same(await query(server.url, 'SELECT 1 AS one'), [{ one: 1 }])
    t.same(
      lines.filter(({ level }) => Number(level) > 30).map(({ msg }) => msg),
      [
        'DATA_DIR has other files: the database is created beside them, in the folder postgres'
      ]
    )
    await server.stop()
  }
)

t.test(
  'of two first starts on one folder, the slower uses the data of the faster',
  async (t) => {
    const directory = t.testdir()
    const log = onLine('creating', () =>
      mkdirSync(path.join(directory, 'postgres/faster'), { recursive: true })
    )

    await t.rejects(startEmbeddedPostgres(directory, 'service', log), {
      message: /^DATA_DIR cannot be used: PostgreSQL did not start: ./
    })
    t.same(readdirSync(path.join(directory, 'postgres')), ['faster'])
    t.same(readdirSync(directory), ['postgres'])
  }
)

t.test(
  'a service shares its server with commands, but not with another service',
  async (t) => {
    const directory = t.testdir()
    copyData(directory)
    const first = await startEmbeddedPostgres(directory, 'command', silent)
    const log = onLine('waiting for another process', () => first.stop())
    const service = await startEmbeddedPostgres(directory, 'service', log)
    const second = await startEmbeddedPostgres(directory, 'command', silent)

    t.equal(second.url, service.url)

    await second.stop()
    t.same(await query(service.url, 'SELECT 1 AS one'), [{ one: 1 }])
    await t.rejects(startEmbeddedPostgres(directory, 'service', silent), {
      message:
        `DATA_DIR cannot be used: already running from this folder (PID ${process.pid}): ` +
        'set DATA_DIR for a second one'
    })

    await service.stop()
    const socket = new URL(service.url).searchParams.get('host') ?? ''
    t.notOk(existsSync(socket), 'nothing stays in the temporary folder')
  }
)

/** Starts the server of a service that has ended. Returns its process id. */
async function startLeftBehind(t: Test, directory: string): Promise<number> {
  const { pid: ended } = spawnSync('true')
  const socket = mkdtempSync(path.join(tmpdir(), `api-service-${ended}-`))
  t.teardown(() => rmSync(socket, { recursive: true }))

  const data = path.join(directory, 'postgres')
  const [program = '', ...args] = embeddedPrograms()('postgres')
  const options = ['-D', data, '-k', socket, '-c', 'listen_addresses=']
  spawn(program, [...args, ...options], { stdio: 'ignore' })
  await until(() => existsSync(`${socket}/.s.PGSQL.5432`), 'the server runs')

  return parseInt(readFileSync(path.join(data, 'postmaster.pid'), 'utf8'))
}

t.test(
  'a server that a killed service left behind is not used, but waited for',
  async (t) => {
    const directory = t.testdir()
    copyData(directory)
    const pid = await startLeftBehind(t, directory)
    // It keeps the folder and does not respond.
    process.kill(pid, 'SIGSTOP')

    const log = onLine('waiting for another process', () =>
      process.kill(pid, 'SIGKILL')
    )
    const service = await startEmbeddedPostgres(directory, 'service', log)
    t.same(await query(service.url, 'SELECT 1 AS one'), [{ one: 1 }])
    await service.stop()
  }
)

/** Asserts that a start fails immediately, for this reason, in one line. */
async function failsAtOnce(t: Test, directory: string, reason: RegExp) {
  const log = onLine('waiting', () => t.fail('it waits'))
  const start = startEmbeddedPostgres(directory, 'service', log)
  await t.rejects(start, { message: reason })
}

t.test('a folder that PostgreSQL cannot use', async (t) => {
  const directory = t.testdir()
  copyData(directory)
  mkdirSync(path.join(directory, 'postgres/postmaster.pid'))
  const unreadable =
    /^DATA_DIR cannot be used: PostgreSQL did not start: could not read lock file "postmaster\.pid": .+$/
  await failsAtOnce(t, directory, unreadable)

  const tooLong = path.join(
    directory,
    ...Array<string>(6).fill('x'.repeat(200))
  )
  const failed =
    /^DATA_DIR cannot be used: initdb failed: (?!Command failed).+$/
  await failsAtOnce(t, tooLong, failed)
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
  const full =
    /^DATA_DIR cannot be used: initdb failed: .*No space left on device: free space on the disk, or .*$/
  await failsAtOnce(t, disk, full)

  t.ok(runs('mount', '-o', 'remount,ro', disk))
  const readOnly =
    /^DATA_DIR cannot be used: EROFS: .*: make the folder writable, or set DATA_DIR to another one$/
  await failsAtOnce(t, path.join(disk, 'folder'), readOnly)
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
    t.intercept(process, 'env', { value: { PATH: '' } })
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
