// Ports, addresses and folders that the service cannot use.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/framework/config.ts'
import { listen } from '../../../src/service.ts'
import { openForCommand } from '../../../src/framework/open-database.ts'
import { api } from '../../../src/handlers/index.ts'
import { copyData, silent } from '../../support/database.ts'
import { call, serve, started } from '../../support/process.ts'
import { noFile, startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  failsToOpen,
  inParallel,
  type Mistake,
  saysOnly,
  unknownPort,
  unreachable
} from './assertions.ts'

/** Asserts that the start ends with one line. */
async function endsTheStart(t: Test, { env = {}, says }: Mistake) {
  const service = serve(t, env)
  const { child } = service
  await until(() => child.exitCode !== null, 'the service has ended')

  t.equal(await service.exited, 1)
  saysOnly(t, service.output(), says)
}

const unusableAddresses: Mistake[] = [
  {
    title: 'PORT is not a number',
    env: { PORT: 'abc' },
    says: 'PORT must be a port, from 0 to 65535'
  },
  {
    title: 'npm has taken the port',
    env: { npm_config_port: '4000' },
    says: unknownPort
  },
  {
    title: 'HOST is of another machine',
    env: { HOST: '192.0.2.1' },
    says: /^HOST must be an address of this machine, not 192\.0\.2\.1: listen EADDRNOTAVAIL/
  },
  {
    title: 'HOST is a URL',
    env: { HOST: 'http://127.0.0.1' },
    says: /^HOST must be an address of this machine, not http:\/\/127\.0\.0\.1: getaddrinfo/
  }
]

/** Each variable that names a port, with the port of another service. */
const portsInUse = (port: number): Mistake[] =>
  ['PORT', 'METRICS_PORT'].map((variable) => ({
    title: `${variable} is in use`,
    env: { [variable]: String(port) },
    says: `Port ${port} is in use: set ${variable}`
  }))

t.test('a mistake that ends the start', async (t) => {
  const { databaseUrl: DATABASE_URL, port } = await startService(t)
  t.jobs = 4
  const mistakes = [...unusableAddresses, ...portsInUse(port)]

  for (const mistake of mistakes) {
    const env = { DATABASE_URL, ...mistake.env }
    t.test(mistake.title, inParallel, (t) =>
      endsTheStart(t, { ...mistake, env })
    )
  }
})

t.test('a port that needs root is reported with its variable', async (t) => {
  const config = { HOST: '::', PORT: 80, METRICS_PORT: 81 }

  /** A kernel that keeps the port for root. */
  const reserving = (port: number) => {
    const error = new Error('listen EACCES')
    const fault = Object.assign(error, { code: 'EACCES', port })

    return { listen: () => Promise.reject(fault) }
  }

  await t.rejects(listen(reserving(80), config), {
    message: 'Port 80 is reserved: set PORT to one above 1023'
  })
  await t.rejects(listen(reserving(81), config), {
    message: 'Port 81 is reserved: set METRICS_PORT to one above 1023'
  })
})

t.test('another fault of the network blames no variable', async (t) => {
  const config = { HOST: '::', PORT: 80 }
  const app = { listen: () => Promise.reject(new Error('no buffer space')) }

  await t.rejects(listen(app, config), {
    message: 'Cannot listen on ::: no buffer space'
  })
})

t.test('a faulty migration is not blamed on DATA_DIR', async (t) => {
  const folder = t.testdir({ migrations: { '9999_toys.sql': 'CREATE TOY' } })
  const migrations = pathToFileURL(`${folder}/migrations/`)
  const dataDir = path.join(folder, 'data')
  copyData(dataDir)

  const config = loadConfig({ DATA_DIR: dataDir }, noFile)
  await t.rejects(openForCommand(config, { ...api, migrations }, silent), {
    message: /^migration 9999_toys failed: syntax error/
  })
})

/** What opening the embedded database says. */
const unusableFolders: Mistake[] = [
  {
    title: 'DATA_DIR is a file',
    env: { DATA_DIR: '/dev/null' },
    says: /^DATA_DIR cannot be used: EEXIST: .*: set DATA_DIR to a folder that can be created$/
  },
  {
    title: 'DATA_DIR is in /proc',
    env: { DATA_DIR: '/proc/x' },
    says: /^DATA_DIR cannot be used: ENOENT: .* '\/proc\/x': set DATA_DIR to a folder that can be created$/
  }
]

for (const { title, env = {}, says } of unusableFolders)
  t.test(title, (t) => failsToOpen(t, env, says))

t.test('a DATA_DIR', (t) => {
  t.jobs = 2

  t.test('of a running service', inParallel, async (t) => {
    const folder = t.testdir()
    copyData(path.join(folder, '.data'))
    await started(serve(t, {}, folder))

    const second = serve(t, {}, folder)
    t.equal(await second.exited, 1)
    saysOnly(
      t,
      second.output(),
      /^DATA_DIR cannot be used: already running from this folder \(PID \d+\): set DATA_DIR for a second one$/
    )
  })

  t.test('with the files of others', inParallel, async (t) => {
    const folder = t.testdir({ '.data': { 'photo.jpg': '' } })
    const service = serve(t, {}, folder)
    await started(service)
    await service.stop()

    saysOnly(
      t,
      service.output(),
      'DATA_DIR has other files: the database is created beside them, in the folder postgres'
    )
  })
  t.end()
})

const asOrdinaryUser =
  process.getuid?.() === 0
    ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    : []

const runScript = path.resolve(import.meta.dirname, '../../../tools/run.js')
const runner = [process.execPath, runScript]

/** Whether an ordinary user may read this project, as in the home of root. */
function mayOrdinaryUserRead(): boolean {
  const [program = '', ...args] = [
    ...asOrdinaryUser,
    ...['test', '-r', runScript]
  ]

  return spawnSync(program, args).status === 0
}

/** Whether ports below 1024 are for root, as they are not in a container. */
function arePortsReserved(): boolean {
  const setting = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
  return existsSync(setting) && Number(readFileSync(setting, 'utf8')) > 1
}

const withUser = mayOrdinaryUserRead()
  ? {}
  : { skip: 'ordinary users cannot read this folder' }

const reserved = arePortsReserved() ? {} : { skip: 'no port is reserved' }

/** Runs the service as an ordinary user, to its end. */
function callAsOrdinaryUser(
  t: Test,
  cwd: string,
  env: Record<string, string> = {}
) {
  // Coverage would be written to a folder that the user may not change.
  const command = [
    ...['env', '-u', 'NODE_OPTIONS'],
    ...[...asOrdinaryUser, ...runner, 'src/main.ts']
  ]

  // The temporary folder of the tests may be closed to the user.
  return call(t, command, { cwd, env: { TMPDIR: '/tmp', ...env } })
}

t.test('as an ordinary user', withUser, (t) => {
  t.jobs = 4
  const folder = t.testdir({ unreadable: { '.env': 'PORT=1' }, 'of-root': {} })
  chmodSync(path.join(folder, 'unreadable/.env'), 0)
  chmodSync(path.join(folder, 'of-root'), 0o500)

  const mistakes = [
    {
      title: 'PORT is reserved for root',
      options: reserved,
      // Whether its database can be reached does not matter here.
      env: { ...unreachable, PORT: '1', LOG_LEVEL: 'silent' },
      says: 'Port 1 is reserved: set PORT to one above 1023'
    },
    {
      title: '.env cannot be read',
      cwd: path.join(folder, 'unreadable'),
      says: ".env must be a readable file: EACCES: permission denied, open '.env'"
    },
    {
      title: 'DATA_DIR is of another user',
      env: { PORT: '0', DATA_DIR: 'of-root' },
      says: /^DATA_DIR cannot be used: EACCES: .*: make the folder writable, or set DATA_DIR to another one$/
    }
  ]

  for (const { title, options = {}, cwd = folder, env, says } of mistakes) {
    t.test(title, { ...inParallel, ...options }, async (t) => {
      const { code, output } = await callAsOrdinaryUser(t, cwd, env)
      t.equal(code, 1)
      saysOnly(t, output, says)
    })
  }
  t.end()
})
