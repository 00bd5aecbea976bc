// What a new user may do wrong: the service, or the command, says so in one
// line that names the variable or the file, and the remedy.
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
import t, { type Test } from 'tap'
import { serviceName } from '../generated/names.ts'
import { loadConfig } from '../src/config.ts'
import { listen } from '../src/listen.ts'
import { messageOf } from '../src/log.ts'
import { migrateDatabase, openForCommand } from '../src/open-database.ts'
import { api } from '../src/resources/index.ts'
import { copyData, createDatabase, query, silent } from './support/database.ts'
import { listenOnLoopback } from './support/loopback.ts'
import { startPostgres } from './support/postgres.ts'
import { call, serve, started } from './support/process.ts'
import { noFile, startService } from './support/service.ts'
import { until } from './support/until.ts'

const root = path.resolve(import.meta.dirname, '..')

/** Tests whose parent has several jobs, which wait more than they compute. */
const inParallel = { buffered: true }

/** What a user does, and the line that this leads to. */
interface Mistake {
  title: string
  env?: Record<string, string>
  /** The contents of `.env`, or of a folder of this name. */
  envFile?: string | Record<string, string>
  says: string | RegExp
}

const prefix = `${serviceName}: `
const isLogged = (line: string) => line.startsWith('{')
const isOfWelcome = (line: string) => /^ {2}\S/.test(line)

/** The lines of an output that report something: no others of the log. */
function complaintsIn(output: string): string[] {
  const lines = output.split('\n').filter((line) => line !== '')
  const printed = lines
    .filter((line) => !isLogged(line) && !isOfWelcome(line))
    .map((line) => line.replace(prefix, ''))
  const logged = lines
    .filter(isLogged)
    .map((line) => JSON.parse(line) as { level: number; msg: string })
    .filter(({ level }) => level >= 40)
    .map(({ msg }) => msg)
  return [...printed, ...logged]
}

/** Asserts that these lines are the one expected, without secrets. */
function isOneLine(t: Test, lines: string[], says: string | RegExp): void {
  const text = lines.join('\n')
  t.equal(text.split('\n').length, 1, text)
  if (typeof says === 'string') t.equal(text, says)
  else t.match(text, says)
  t.notMatch(text, 'secret')
}

/** Asserts that an output reports this and nothing else. */
const saysOnly = (t: Test, output: string, says: string | RegExp) =>
  isOneLine(t, complaintsIn(output), says)

/** Reads the configuration. Returns the lines on stderr, or of the error. */
function readingSays(t: Test, { env = {}, envFile }: Mistake) {
  const folder = envFile === undefined ? {} : { '.env': envFile }
  const file = path.join(t.testdir(folder), '.env')
  const errors = t.capture(console, 'error')
  try {
    loadConfig(env, file)
  } catch (error) {
    return [messageOf(error).replace(file, '.env')]
  }
  return errors().map(({ args }) =>
    String(args).replace(file, '.env').replace(prefix, '')
  )
}

/** What reading the configuration says. */
const mistakesOfConfiguration: Mistake[] = [
  {
    title: 'PORT is no number',
    env: { PORT: 'abc' },
    says: 'PORT must be a port, from 0 to 65535'
  },
  {
    title: 'PORT is no number in .env',
    env: { PORT: '' },
    envFile: 'PORT=3000.5',
    says: 'PORT must be a port, from 0 to 65535'
  },
  {
    title: 'PORT is too large',
    env: { PORT: '70000' },
    says: 'PORT must be a port, from 0 to 65535'
  },
  {
    title: 'a size has a unit',
    env: { MAX_BODY_BYTES: '64kb' },
    says: 'MAX_BODY_BYTES must be a whole number of bytes, at least 1'
  },
  {
    title: 'a time has a unit',
    env: { REQUEST_TIMEOUT_MS: '30s' },
    says: 'REQUEST_TIMEOUT_MS must be a whole number of milliseconds, from 1 to 86400000'
  },
  {
    title: 'a variable has its name from before 1.0.0',
    env: { BODY_LIMIT: '1' },
    says: 'BODY_LIMIT is now MAX_BODY_BYTES: rename it'
  },
  {
    title: 'a variable has its name from before 1.0.0 in .env',
    envFile: 'BODY_LIMIT=1',
    says: 'BODY_LIMIT is now MAX_BODY_BYTES: rename it'
  },
  {
    title: 'a number is too large to be exact',
    env: { MAX_CONNECTIONS: '9'.repeat(30) },
    says: 'MAX_CONNECTIONS must be a whole number, at least 1'
  },
  {
    title: 'IDEMPOTENCY_KEY_HOURS is too small',
    env: { IDEMPOTENCY_KEY_HOURS: '1' },
    says: 'IDEMPOTENCY_KEY_HOURS must be a whole number of hours, from 24 to 8760'
  },
  {
    title: 'LOG_LEVEL is unknown',
    env: { LOG_LEVEL: 'INFO' },
    says: 'LOG_LEVEL must be one of: fatal, error, warn, info, debug, trace, silent'
  },
  {
    title: 'MIGRATE_ON_START is yes',
    env: { MIGRATE_ON_START: 'yes' },
    says: 'MIGRATE_ON_START must be true or false'
  },
  {
    title: 'TRUST_PROXY is true',
    env: { TRUST_PROXY: 'true' },
    says: /^TRUST_PROXY must be a hop count such as 1, or comma-separated addresses/
  },
  {
    title: 'CORS_ORIGINS ends with a slash',
    env: { CORS_ORIGINS: 'https://a.example/' },
    says: /^CORS_ORIGINS must be comma-separated origins .*without spaces and paths$/
  },
  {
    title: 'ENVIRONMENT is abbreviated',
    env: { ENVIRONMENT: 'prod' },
    says: 'ENVIRONMENT must be one of: development, staging, production'
  },
  {
    title: 'METRICS_PORT is too large',
    env: { METRICS_PORT: '99999' },
    says: 'METRICS_PORT must be a port, from 0 to 65535'
  },
  {
    title: 'METRICS_PORT is PORT',
    env: { PORT: '3000', METRICS_PORT: '3000' },
    says: 'METRICS_PORT must not be 3000, the value of PORT'
  },
  {
    title: 'DATABASE_URL is of another database',
    env: { DATABASE_URL: 'mysql://user:secret@host/db' },
    says: 'DATABASE_URL must start with postgres://'
  },
  {
    title: 'DATABASE_URL has quotes',
    env: { DATABASE_URL: '"postgres://user:secret@host/db"' },
    says: 'DATABASE_URL must start with postgres://'
  },
  {
    title: 'sslmode is unknown',
    env: { DATABASE_URL: 'postgres://user:secret@host/db?sslmode=bogus' },
    says: 'DATABASE_URL must have one of these as sslmode: disable, no-verify, verify-full'
  },
  {
    title: 'sslmode is misspelt, and would have no effect',
    env: {
      DATABASE_URL: 'postgres://user:secret@host/db?ssl_mode=verify-full'
    },
    says: 'DATABASE_URL must have sslmode instead of ssl_mode'
  },
  {
    title: 'sslmode is one that node-postgres will weaken',
    env: { DATABASE_URL: 'postgres://user:secret@host/db?sslmode=require' },
    says: 'DATABASE_URL: sslmode=require is applied as verify-full: write that'
  },
  {
    title: 'DATABASE_URL_FILE is missing',
    env: { DATABASE_URL_FILE: '/none/url' },
    says: /^DATABASE_URL_FILE must be a readable file: ENOENT.*'\/none\/url'$/
  },
  {
    title: 'DATABASE_URL_FILE is a folder',
    env: { DATABASE_URL_FILE: '.' },
    says: /^DATABASE_URL_FILE must be a readable file: EISDIR/
  },
  {
    title: 'DATABASE_URL is set twice',
    env: { DATABASE_URL: 'postgres://a', DATABASE_URL_FILE: 'b' },
    says: 'DATABASE_URL and DATABASE_URL_FILE must not both be set'
  },
  {
    title: 'DATABASE_URL_FILE is empty',
    env: { DATABASE_URL_FILE: '/dev/null' },
    says: 'DATABASE_URL_FILE must contain a URL that starts with postgres://'
  },
  {
    title: '.env has NAME: value',
    envFile: 'LOG_LEVEL: debug',
    says: '.env: write LOG_LEVEL=value instead of LOG_LEVEL: value'
  },
  {
    title: '.env is a folder',
    envFile: {},
    says: '.env must be a readable file: EISDIR: illegal operation on a directory, read'
  },
  {
    title: 'a name in .env is misspelt',
    envFile: 'DATABSE_URL=postgres://user:secret@host/db',
    says: '.env: ignoring DATABSE_URL: did you mean DATABASE_URL?'
  },
  {
    title: 'a name in .env is unknown',
    envFile: 'SOMETHING_ELSE=secret',
    says: '.env: ignoring SOMETHING_ELSE: no variable has this name'
  },
  {
    title: 'a name in the environment is misspelt',
    env: { LOGLEVEL: 'debug' },
    says: 'environment: ignoring LOGLEVEL: did you mean LOG_LEVEL?'
  }
]

for (const mistake of mistakesOfConfiguration) {
  t.test(mistake.title, (t) => {
    isOneLine(t, readingSays(t, mistake), mistake.says)
    t.end()
  })
}

t.test('names of other programs are theirs', (t) => {
  const env = { PGPORT: '1', HOSTNAME: 'x', DATABASE: 'x', LOGNAME: 'x' }
  const isMeant = { DATABASE_URI: 'x', DATABASE_URL: 'postgres://host' }
  t.same(
    readingSays(t, { title: '', env: { ...env, ...isMeant }, says: '' }),
    []
  )
  t.end()
})

t.test('what .env may have', (t) => {
  const contents = `\uFEFFPORT="1"\r\nexport HOST = '127.0.0.2'\r\n`
  const file = path.join(t.testdir({ '.env': contents }), '.env')
  t.match(loadConfig({}, file), { PORT: 1, HOST: '127.0.0.2' })
  t.end()
})

/** What opening the database says, before a connection is made. */
const mistakesOfTheDatabase: Mistake[] = [
  {
    title: 'the password has a # or a /',
    env: { DATABASE_URL: 'postgres://user:se#cret@host/db' },
    says: /^DATABASE_URL cannot be used: it is not a valid URL: percent-encode special characters of the password, and write the port as a number$/
  },
  {
    title: 'the password has a %',
    env: { DATABASE_URL: 'postgres://user:secret%ff@host/db' },
    says: /^DATABASE_URL cannot be used: it is not a valid URL: percent-encode special characters/
  },
  {
    title: 'the port is no number',
    env: { DATABASE_URL: 'postgres://user:secret@host:abc/db' },
    says: /^DATABASE_URL cannot be used: it is not a valid URL: .*the port as a number$/
  },
  {
    title: 'a certificate is missing',
    env: {
      DATABASE_URL:
        'postgres://user:secret@host/db?sslmode=verify-full&sslrootcert=/none.pem'
    },
    says: /^DATABASE_URL cannot be used: ENOENT: .* '\/none\.pem': correct sslrootcert, sslcert or sslkey$/
  },
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

for (const { title, env = {}, says } of mistakesOfTheDatabase) {
  t.test(title, async (t) => {
    const opening = openForCommand(loadConfig(env, noFile), api, silent)
    isOneLine(t, [await messageOfRejected(opening)], says)
  })
}

/** The message of the error with which a promise rejects. */
const messageOfRejected = (promise: Promise<unknown>) =>
  promise.then(() => 'no error', messageOf)

t.test('each of several mistakes has its line', (t) => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud', MIGRATE_ON_START: 'TRUE' }
  const [text = ''] = readingSays(t, { title: '', env, says: '' })

  t.match(text.split('\n'), [
    /^PORT must be /,
    /^MIGRATE_ON_START must be /,
    /^LOG_LEVEL must be /
  ])
  t.end()
})

const unknownPort =
  'unknown argument --port: set variables, as in PORT=4000 npm start; see docs/configuration.md'

/** Asserts that the start ends with one line. */
async function endsTheStart(t: Test, { env = {}, says }: Mistake) {
  const service = serve(t, env)
  const { child } = service
  await until(() => child.exitCode !== null, 'the service has ended')

  t.equal(await service.exited, 1)
  saysOnly(t, service.output(), says)
}

t.test('a mistake that ends the start', async (t) => {
  const { databaseUrl: DATABASE_URL, port } = await startService(t)
  t.jobs = 4
  const mistakes: Mistake[] = [
    {
      title: 'PORT is no number',
      env: { PORT: 'abc' },
      says: 'PORT must be a port, from 0 to 65535'
    },
    {
      title: 'npm has taken the port',
      env: { npm_config_port: '4000' },
      says: unknownPort
    },
    {
      title: 'PORT is in use',
      env: { PORT: String(port) },
      says: `Port ${port} is in use: set PORT`
    },
    {
      title: 'METRICS_PORT is in use',
      env: { METRICS_PORT: String(port) },
      says: `Port ${port} is in use: set METRICS_PORT`
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

/** Returns a server on which all but the superuser need their password. */
async function serverWithPasswords(t: Test) {
  const rules = 'host all postgres all trust\nhost all all all scram-sha-256\n'
  const { url } = await startPostgres(t, {}, { 'pg_hba.conf': rules })
  await query(url, "CREATE ROLE app LOGIN PASSWORD 'secret'")
  await query(url, 'CREATE DATABASE others')
  return (credentials: string, database = 'others') => {
    const { host } = new URL(url)
    return `postgres://${credentials}@${host}/${database}`
  }
}

/** Asserts that migrating fails with one line. */
async function failsToMigrate(
  t: Test,
  env: Record<string, string>,
  says: string | RegExp
) {
  const migrating = migrateDatabase(loadConfig(env, noFile), api, silent)
  isOneLine(t, [await messageOfRejected(migrating)], says)
}

t.test('a DATABASE_URL that cannot be used', async (t) => {
  const urlFor = await serverWithPasswords(t)
  const server = await createDatabase(t)
  const mistakes = [
    {
      title: 'the port is wrong',
      env: { DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/x' },
      says: /^DATABASE_URL cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1: correct its host or port, or start PostgreSQL there$/
    },
    {
      title: 'the host is wrong',
      env: { DATABASE_URL: 'postgres://user:secret@db.invalid/x' },
      says: /^DATABASE_URL cannot be used: getaddrinfo E\w+ db\.invalid: correct its host or port/
    },
    {
      title: 'the password is wrong',
      env: { DATABASE_URL: urlFor('app:secret2') },
      says: /^DATABASE_URL cannot be used: password authentication failed for user "app": correct its user or password$/
    },
    {
      title: 'the user is wrong',
      env: { DATABASE_URL: urlFor('nobody:secret') },
      says: /^DATABASE_URL cannot be used: password authentication failed for user "nobody": correct its user or password$/
    },
    {
      title: 'the database is wrong',
      env: { DATABASE_URL: urlFor('app:secret', 'none') },
      says: /^DATABASE_URL cannot be used: database "none" does not exist: create it, or correct its name$/
    },
    {
      title: 'the password is missing',
      env: { DATABASE_URL: urlFor('app') },
      says: /^DATABASE_URL cannot be used: it has no password, and the server asks for one: write postgres:\/\/USER:PASSWORD@HOST$/
    },
    {
      title: 'the role may not create tables',
      env: { DATABASE_URL: urlFor('app:secret') },
      says: /^DATABASE_URL cannot be used: permission denied for schema public: grant its user CREATE on the schema, or run `npm run migrate` as another user$/
    },
    {
      title: 'DATABASE_SERVICE_ROLE does not exist',
      env: { DATABASE_URL: server, DATABASE_SERVICE_ROLE: 'nope' },
      says: /^DATABASE_SERVICE_ROLE cannot be used: role "nope" does not exist: create it, or correct its name$/
    }
  ]

  for (const { title, env, says } of mistakes)
    t.test(title, (t) => failsToMigrate(t, env, says))
})

t.test('the database has another encoding', async (t) => {
  const DATABASE_URL = await createDatabase(
    t,
    "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"
  )
  await failsToMigrate(
    t,
    { DATABASE_URL },
    /^DATABASE_URL cannot be used: the database must be encoded in UTF8, not LATIN1: create one with ENCODING 'UTF8'$/
  )
})

t.test('the database is empty, and not to be migrated', async (t) => {
  const DATABASE_URL = await createDatabase(t, 'TEMPLATE template0')
  const opening = openForCommand(
    loadConfig({ DATABASE_URL }, noFile),
    api,
    silent
  )
  isOneLine(
    t,
    [await messageOfRejected(opening)],
    /^DATABASE_URL cannot be used: migrations are pending \(0002_.*\): run `npm run migrate`$/
  )
})

/** A server that is not PostgreSQL. `connections` counts the attempts. */
async function startHttpServer(t: Test) {
  const attempts = { connections: 0 }
  const server = createServer()
  server.on('connection', () => attempts.connections++)
  const port = await listenOnLoopback(t, server)
  return { attempts, port }
}

t.test(
  'a server that is not PostgreSQL is reported once, however often it is tried',
  async (t) => {
    const { attempts, port } = await startHttpServer(t)
    const DATABASE_URL = `postgres://user:secret@127.0.0.1:${port}/x`
    const service = serve(t, { DATABASE_URL })
    await service.sees(/; retrying every second/)

    const { connections } = attempts
    const isTriedAgain = () => attempts.connections >= connections + 3
    await until(isTriedAgain, 'the server is tried again')
    await service.stop()

    saysOnly(
      t,
      service.output(),
      /^DATABASE_URL cannot be used: Connection terminated unexpectedly: correct its host or port, or start PostgreSQL there; retrying every second$/
    )
  }
)

const unreachable = { DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/x' }

const asOrdinaryUser =
  process.getuid?.() === 0
    ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    : []

const runner = [process.execPath, path.join(root, 'tools/run.js')]

/** Whether an ordinary user may read this project, as in the home of root. */
function mayOrdinaryUserRead(): boolean {
  const [program = '', ...args] = [
    ...asOrdinaryUser,
    ...['test', '-r', path.join(root, 'tools/run.js')]
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
      // Coverage would be written to a folder that the user may not change.
      const command = [
        ...['env', '-u', 'NODE_OPTIONS'],
        ...[...asOrdinaryUser, ...runner, 'src/main.ts']
      ]
      // The temporary folder of the tests may be closed to the user.
      const { code, output } = await call(t, command, {
        cwd,
        env: { TMPDIR: '/tmp', ...env }
      })

      t.equal(code, 1)
      saysOnly(t, output, says)
    })
  }
  t.end()
})

/** A command line, and the line that it leads to. */
interface CommandMistake {
  title: string
  command: string
  env?: Record<string, string>
  says: string | RegExp
}

const cannotConnect =
  /^DATABASE_URL cannot be used: .*ECONNREFUSED 127\.0\.0\.1:1: correct its host or port, or start PostgreSQL there$/

const mistakesOfCommands: CommandMistake[] = [
  {
    title: 'keys of a database that cannot be reached',
    command: 'npm run -s keys list',
    env: unreachable,
    says: cannotConnect
  },
  {
    title: 'a migration of a database that cannot be reached',
    command: 'npm run -s migrate',
    env: unreachable,
    says: cannotConnect
  },
  {
    title: 'a command is misspelt',
    command: 'npm run -s keys -- creat',
    says: "error: unknown command 'creat' (Did you mean create?)"
  },
  {
    title: 'an option is missing',
    command: 'npm run -s keys -- create',
    says: "error: required option '--name <name>' not specified"
  },
  {
    title: 'a lifetime has an unknown unit',
    command: 'npm run -s keys -- create --name x --expires 1y',
    says: /argument '1y' is invalid. Write it as 30m, 24h or 90d.$/
  },
  {
    title: 'a key does not exist',
    command: 'npm run -s keys -- revoke 99',
    says: 'Key 99 is not valid; see: keys list'
  },
  {
    title: 'npm takes the options of keys',
    command: 'npm run -s keys create --name x',
    says: 'npm took --name for its own option: write -- before the command, as in npm run keys -- create --name NAME'
  },
  {
    title: 'the port is an argument',
    command: 'npm start -s -- --port 4000',
    says: unknownPort
  },
  {
    title: 'npm takes the port',
    command: 'npm start -s --port=4000',
    says: unknownPort
  }
]

t.test('a mistake on the command line', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  t.jobs = 4
  // npm writes its own warnings to stderr, about its next major version.
  const quiet = { npm_config_loglevel: 'silent', PORT: '0' }

  for (const { title, command, env, says } of mistakesOfCommands) {
    t.test(title, inParallel, async (t) => {
      const { code, output } = await call(t, command.split(' '), {
        env: { DATABASE_URL, ...quiet, ...env }
      })

      t.equal(code, 1)
      saysOnly(t, output, says)
    })
  }
})

/** A folder with what `npm start` runs first, outside of our node_modules. */
function freshClone(t: Test, engines: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-clone-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const name of [
    'src',
    'generated',
    'test',
    'tools/run.js',
    'tools/seed.ts'
  ])
    cpSync(name, path.join(folder, name), { recursive: true })
  const packageJson = JSON.parse(readFileSync('package.json', 'utf8')) as object
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify({ ...packageJson, engines: { node: engines } })
  )
  return folder
}

const missing =
  'packages are missing: run `npm ci`; before Node.js 22.18, without --omit=dev'
const [major] = process.versions.node.split('.')

const mistakesOfInstallations = [
  {
    title: 'npm ci was forgotten',
    engines: '>=20.19',
    commands: ['start', 'run keys list', 'test'],
    says: missing
  },
  {
    title: 'Node.js is too old',
    engines: '>=99.1',
    commands: ['start', 'test'],
    says: `Node.js 99.1 or later is needed, not ${process.versions.node}`
  },
  {
    title: 'Node.js is a little too old',
    engines: `>=${major}.99`,
    commands: ['start'],
    says: `Node.js ${major}.99 or later is needed, not ${process.versions.node}`
  }
]

for (const { title, engines, commands, says } of mistakesOfInstallations) {
  t.test(title, (t) => {
    t.jobs = 2
    const cwd = freshClone(t, engines)
    const env = { npm_config_loglevel: 'silent' }

    for (const command of commands) {
      t.test(`npm ${command}`, inParallel, async (t) => {
        const words = ['npm', '-s', ...command.split(' ')]
        const { code, output } = await call(t, words, { cwd, env })

        t.equal(code, 1)
        saysOnly(t, output, says)
      })
    }
    t.end()
  })
}
