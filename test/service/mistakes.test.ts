// What a new user may do wrong: the service, or a command, says so in one line
// that names the variable or the file, and the remedy. config.test.ts has the
// mistakes that reading the configuration finds.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/framework/config.ts'
import { messageOf } from '../../src/framework/log.ts'
import {
  migrateDatabase,
  openForCommand
} from '../../src/framework/open-database.ts'
import { api } from '../../src/handlers/index.ts'
import { listen } from '../../src/service.ts'
import {
  copyData,
  createDatabase,
  emptyLatin1,
  query,
  silent
} from '../support/database.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { startPostgres } from '../support/postgres.ts'
import { call, script, serve, started } from '../support/process.ts'
import { noFile, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Tests whose parent has several jobs, which wait more than they compute. */
const inParallel = { buffered: true }

type Says = string | RegExp

/** The line of each mistake, by its title; then what leads to it. */
type Mistakes = Record<string, [Record<string, string>, Says]>

/** Asserts that these lines are the one expected, without secrets. */
function isOneLine(t: Test, lines: string[], says: Says): void {
  const text = lines.join('\n')
  if (typeof says === 'string') t.equal(text, says)
  else t.match(text, says)
  t.notMatch(text, /secret|\n/)
}

interface LogLine {
  level: number
  msg: string
}

/** Asserts that an output reports this and nothing else. */
function saysOnly(t: Test, output: string, says: Says): void {
  const lines = output.split('\n').filter((line) => /^\S/.test(line))
  const isLogged = (line: string) => line.startsWith('{')
  const printed = lines
    .filter((line) => !isLogged(line))
    .map((line) => line.replace(/^pet-categories: /, ''))
  const logged = lines
    .filter(isLogged)
    .map((line) => JSON.parse(line) as LogLine)
    .filter(({ level }) => level >= 40)
    .map(({ msg }) => msg)

  isOneLine(t, [...printed, ...logged], says)
}

type Env = Record<string, string>

const opening = (env: Env) =>
  openForCommand(loadConfig(env, noFile), api, silent)
const migrating = (env: Env) =>
  migrateDatabase(loadConfig(env, noFile), api, silent)

function failsWithOneLine(
  run: (env: Env) => Promise<unknown>,
  mistakes: Mistakes
): void {
  for (const [title, [env, says]] of Object.entries(mistakes)) {
    t.test(title, async (t) => {
      const message = await run(env).then(() => 'no error', messageOf)
      isOneLine(t, [message], says)
    })
  }
}

/** The variables of a database of this user on 127.0.0.1 or another host. */
const databaseAt = (host: string, user = 'user:secret') => ({
  DATABASE_URL: `postgres://${user}@${host}`
})

/** A server on which all but the superuser need their password. */
const server = await startPostgres(
  t,
  {},
  {
    'pg_hba.conf':
      'host all postgres all trust\nhost all all all scram-sha-256\n'
  }
)
await query(server.url, "CREATE ROLE app LOGIN PASSWORD 'secret'")
await query(server.url, 'CREATE DATABASE others')
const { host } = new URL(server.url)

// Before the tests: tap ends when no test is left.
const migrated = await createDatabase(t)
const withoutTables = await createDatabase(t, 'TEMPLATE template0')
const latin1 = await createDatabase(t, emptyLatin1)

failsWithOneLine(opening, {
  'the password has a # or a /': [
    databaseAt('host/db', 'user:se#cret'),
    /^DATABASE_URL cannot be used: it is not a valid URL: percent-encode special characters of the password, and write the port as a number$/
  ],
  'the password has a %': [
    databaseAt('host/db', 'user:secret%ff'),
    /^DATABASE_URL cannot be used: it is not a valid URL: percent-encode/
  ],
  'the port is not a number': [
    databaseAt('host:abc/db'),
    /^DATABASE_URL cannot be used: it is not a valid URL: .*the port as a number$/
  ],
  'a certificate is missing': [
    databaseAt('host/db?sslmode=verify-full&sslrootcert=/none.pem'),
    /^DATABASE_URL cannot be used: ENOENT: .* '\/none\.pem': correct sslrootcert, sslcert or sslkey$/
  ],
  'the database is empty, and not to be migrated': [
    { DATABASE_URL: withoutTables },
    /^the database cannot be used: migrations are pending \(\d{4}_.*\): run `npm run migrate`$/
  ],
  'DATA_DIR is a file': [
    { DATA_DIR: '/dev/null' },
    /^DATA_DIR cannot be used: EEXIST: .*: set DATA_DIR to a folder that can be created$/
  ],
  'DATA_DIR is in /proc': [
    { DATA_DIR: '/proc/x' },
    /^DATA_DIR cannot be used: ENOENT: .* '\/proc\/x': set DATA_DIR to a folder that can be created$/
  ]
})

failsWithOneLine(migrating, {
  'the port is wrong': [
    databaseAt('127.0.0.1:1/x'),
    /^DATABASE_URL cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1: correct its host or port, or start PostgreSQL there$/
  ],
  'the host is wrong': [
    databaseAt('db.invalid/x'),
    /^DATABASE_URL cannot be used: getaddrinfo E\w+ db\.invalid: correct its host or port/
  ],
  'the password is wrong': [
    databaseAt(`${host}/others`, 'app:secret2'),
    /^DATABASE_URL cannot be used: password authentication failed for user "app": correct its user or password$/
  ],
  'the user is wrong': [
    databaseAt(`${host}/others`, 'nobody:secret'),
    /^DATABASE_URL cannot be used: password authentication failed for user "nobody": correct its user or password$/
  ],
  'the database is wrong': [
    databaseAt(`${host}/none`, 'app:secret'),
    /^DATABASE_URL cannot be used: database "none" does not exist: create it, or correct its name$/
  ],
  'the password is missing': [
    databaseAt(`${host}/others`, 'app'),
    /^DATABASE_URL cannot be used: it has no password, and the server asks for one: write postgres:\/\/USER:PASSWORD@HOST$/
  ],
  'the role may not create tables': [
    databaseAt(`${host}/others`, 'app:secret'),
    /^DATABASE_URL cannot be used: permission denied for schema public: grant its user CREATE on the schema, or run `npm run migrate` as another user$/
  ],
  'DATABASE_SERVICE_ROLE does not exist': [
    {
      DATABASE_URL: migrated,
      DATABASE_SERVICE_ROLE: 'nope'
    },
    /^DATABASE_SERVICE_ROLE cannot be used: grants.sql failed: role "nope" does not exist: create it, or correct its name$/
  ],
  'the database has another encoding': [
    { DATABASE_URL: latin1 },
    /^the database cannot be used: it must be encoded in UTF8, not LATIN1: create one with ENCODING 'UTF8'$/
  ]
})

t.test('a server that is not PostgreSQL is reported once', async (t) => {
  let attempts = 0
  const http = createServer().on('connection', () => attempts++)
  const port = await listenOnLoopback(t, http)
  const service = serve(t, databaseAt(`127.0.0.1:${port}/x`))
  await service.sees(/; retrying every second/)

  const before = attempts
  await until(() => attempts >= before + 3, 'the server is tried again')
  await service.stop()

  saysOnly(
    t,
    service.output(),
    /^DATABASE_URL cannot be used: Connection terminated unexpectedly: correct its host or port, or start PostgreSQL there; retrying every second$/
  )
})

t.test('a faulty migration is not blamed on DATA_DIR', async (t) => {
  const folder = t.testdir({ migrations: { '9999_toys.sql': 'CREATE TOY' } })
  const migrations = pathToFileURL(`${folder}/migrations/`)
  const DATA_DIR = path.join(folder, 'data')
  copyData(DATA_DIR)

  const config = loadConfig({ DATA_DIR }, noFile)
  await t.rejects(openForCommand(config, { ...api, migrations }, silent), {
    message: /^migration 9999_toys failed: syntax error/
  })
})

t.test('a mistake that ends the start', async (t) => {
  const { databaseUrl: DATABASE_URL, port } = await startService(t)
  t.jobs = 4
  const mistakes: Mistakes = {
    'PORT is not a number': [
      { PORT: 'abc' },
      'PORT must be a port, from 0 to 65535'
    ],
    'HOST is of another machine': [
      { HOST: '192.0.2.1' },
      /^HOST must be an address of this machine, not 192\.0\.2\.1: listen EADDRNOTAVAIL/
    ],
    'HOST is a URL': [
      { HOST: 'http://127.0.0.1' },
      /^HOST must be an address of this machine, not http:\/\/127\.0\.0\.1: getaddrinfo/
    ],
    'PORT is in use': [
      { PORT: String(port) },
      `Port ${port} is in use: set PORT`
    ],
    'METRICS_PORT is in use': [
      { METRICS_PORT: String(port) },
      `Port ${port} is in use: set METRICS_PORT`
    ]
  }

  for (const [title, [env, says]] of Object.entries(mistakes)) {
    t.test(title, inParallel, async (t) => {
      const service = serve(t, { DATABASE_URL, ...env })
      t.equal(await service.exited, 1)
      saysOnly(t, service.output(), says)
    })
  }
})

const cannotConnect =
  /^DATABASE_URL cannot be used: .*ECONNREFUSED 127\.0\.0\.1:1: correct its host or port, or start PostgreSQL there$/

/** What command lines say. */
const commandLines: Mistakes = {
  'run keys list': [databaseAt('127.0.0.1:1/x'), cannotConnect],
  'run migrate': [databaseAt('127.0.0.1:1/x'), cannotConnect],
  'run keys -- creat': [
    {},
    "error: unknown command 'creat' (Did you mean create?)"
  ],
  'run keys -- create': [
    {},
    "error: required option '--name <name>' not specified"
  ],
  'run keys -- create --name x --expires 1y': [
    {},
    /argument '1y' is invalid. Write it as 30m, 24h or 90d.$/
  ],
  'run keys -- revoke 99': [{}, 'Key 99 is not valid; see: keys list'],
  // npm takes all options, --name too.
  'run keys create --name x --expires 1h': [
    {},
    "error: required option '--name <name>' not specified"
  ]
}

t.test('a mistake on the command line', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  t.jobs = 4
  // npm writes its own warnings to stderr, about its next major version.
  const quiet = { npm_config_loglevel: 'silent', PORT: '0' }

  for (const [command, [variables, says]] of Object.entries(commandLines)) {
    t.test(`npm ${command}`, inParallel, async (t) => {
      const env = { DATABASE_URL, ...quiet, ...variables }
      const words = ['npm', '-s', ...command.split(' ')]
      const { code, output } = await call(t, words, { env })

      t.equal(code, 1)
      saysOnly(t, output, says)
    })
  }
})

t.test('the port is an argument', async (t) => {
  const words = [...script('src/main.ts'), '--port', '4000']
  const { code, output } = await call(t, words)

  t.equal(code, 1)
  const remedy =
    'set variables, as in PORT=4000 npm start; see docs/configuration.md'
  saysOnly(t, output, `unknown argument --port: ${remedy}`)
})

t.test('a port that needs root is reported with its variable', async (t) => {
  const config = { HOST: '::', PORT: 80, METRICS_PORT: 81 }
  /** A kernel that rejects to listen. */
  const rejecting = (fault: object) => ({
    listen: () => Promise.reject(Object.assign(new Error('no buffer'), fault))
  })
  const reserved = { code: 'EACCES' }

  await t.rejects(listen(rejecting({ ...reserved, port: 80 }), config), {
    message: 'Port 80 is reserved: set PORT to one above 1023'
  })
  await t.rejects(listen(rejecting({ ...reserved, port: 81 }), config), {
    message: 'Port 81 is reserved: set METRICS_PORT to one above 1023'
  })
  await t.rejects(listen(rejecting({}), config), {
    message: 'Cannot listen on ::: no buffer'
  })
})

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

const runScript = path.resolve('tools/run.js')

const asOrdinaryUser =
  process.getuid?.() === 0
    ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    : ['env']

/** Whether an ordinary user may read this project, as in the home of root. */
function mayOrdinaryUserRead(): boolean {
  const [program = '', ...args] = asOrdinaryUser
  return spawnSync(program, [...args, 'test', '-r', runScript]).status === 0
}

/** Whether ports below 1024 are for root, as they are not in a container. */
function arePortsReserved(): boolean {
  const setting = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
  return existsSync(setting) && Number(readFileSync(setting, 'utf8')) > 1
}

const withUser = mayOrdinaryUserRead()
  ? {}
  : { skip: 'ordinary users cannot read this folder' }

t.test('as an ordinary user', withUser, (t) => {
  t.jobs = 4
  const folder = t.testdir({ unreadable: { '.env': 'PORT=1' }, 'of-root': {} })
  chmodSync(path.join(folder, 'unreadable/.env'), 0)
  chmodSync(path.join(folder, 'of-root'), 0o500)

  const mistakes = [
    {
      title: 'PORT is reserved for root',
      options: arePortsReserved() ? {} : { skip: 'no port is reserved' },
      // Whether its database can be reached does not matter here.
      env: { ...databaseAt('127.0.0.1:1/x'), PORT: '1', LOG_LEVEL: 'silent' },
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
  // Coverage would be written to a folder that the user may not change.
  const command = ['env', '-u', 'NODE_OPTIONS', ...asOrdinaryUser].concat(
    process.execPath,
    runScript,
    'src/main.ts'
  )

  for (const { title, options, cwd = folder, env, says } of mistakes) {
    t.test(title, { ...inParallel, ...options }, async (t) => {
      // The temporary folder of the tests may be closed to the user.
      const settings = { cwd, env: { TMPDIR: '/tmp', ...env } }
      const { code, output } = await call(t, command, settings)
      t.equal(code, 1)
      saysOnly(t, output, says)
    })
  }
  t.end()
})

/** A folder with what `npm start` runs first, outside of our node_modules. */
function freshClone(t: Test, engines: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-clone-'))
  t.teardown(() => rmSync(folder, { recursive: true }))

  const names = ['src', 'generated', 'test', 'tools/run.js', 'tools/seed.ts']
  for (const name of names)
    cpSync(name, path.join(folder, name), { recursive: true })

  const packageJson = JSON.parse(readFileSync('package.json', 'utf8')) as object
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify({ ...packageJson, engines: { node: engines } })
  )

  return folder
}

const [major] = process.versions.node.split('.')
const missing =
  'packages are missing: run `npm ci`; before Node.js 22.18, without --omit=dev'

/** What npm commands say in a fresh clone, by the Node.js that it needs. */
const installations: [engines: string, command: string, says: string][] = [
  ['>=20.19', 'start', missing],
  ['>=20.19', 'run keys list', missing],
  ['>=20.19', 'test', missing],
  [
    '>=20.19',
    'run start:build',
    'dist/src/main.js is missing: run `npm run build`'
  ],
  [
    '>=99.1',
    'start',
    `Node.js 99.1 or later is needed, not ${process.versions.node}`
  ],
  [
    `>=${major}.99`,
    'test',
    `Node.js ${major}.99 or later is needed, not ${process.versions.node}`
  ]
]

t.test('an installation', (t) => {
  t.jobs = 2
  for (const [engines, command, says] of installations) {
    t.test(`npm ${command}, for ${engines}`, inParallel, async (t) => {
      const { code, output } = await call(
        t,
        ['npm', '-s', ...command.split(' ')],
        { cwd: freshClone(t, engines), env: { npm_config_loglevel: 'silent' } }
      )
      t.equal(code, 1)
      saysOnly(t, output, says)
    })
  }
  t.end()
})
