// What a new user may do wrong: the service, or a command, says so in one line
// that names the variable or the file, and the remedy. config.test.ts has the
// mistakes that reading the configuration finds, embedded/ those of DATA_DIR.
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { type Config, loadConfig } from '../../src/framework/config.ts'
import { messageOf } from '../../src/framework/message-of.ts'
import { Metrics } from '../../src/framework/metrics.ts'
import { openDatabase } from '../../src/framework/open-database.ts'
import { api } from '../../src/handlers/index.ts'
import { start, stop } from '../../src/service.ts'
import {
  copyData,
  createDatabase,
  query,
  silent,
  temporaryFolder
} from '../support/database.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { notes } from '../support/notes.ts'
import { startPostgres } from '../support/postgres.ts'
import { call, script } from '../support/process.ts'
import { noFile } from '../support/service.ts'

type Says = string | RegExp
type Env = Record<string, string>

/** Asserts that a text is one line that says this, without secrets. */
function isOneLine(t: Test, text: string, says: Says): void {
  t.match(text, says)
  t.notMatch(text, /secret|\n/)
}

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
const otherPort = await listenOnLoopback(t, createServer())
const DATABASE_URL = await createDatabase(t)

/** What is said of a DATABASE_URL, after `postgres://`. */
const urls: [title: string, url: string, says: Says][] = [
  ['the password has a %', 'user:secret%ff@host/db', 'URI malformed'],
  [
    'a certificate is missing',
    'user:secret@host/db?sslmode=verify-full&sslrootcert=/none.pem',
    "'/none.pem'"
  ],
  ['the port is wrong', 'user:secret@127.0.0.1:1/x', 'ECONNREFUSED'],
  [
    'the server is not PostgreSQL',
    `user:secret@127.0.0.1:${otherPort}/x`,
    'Connection terminated unexpectedly'
  ],
  ['the host is wrong', 'user:secret@db.invalid/x', / E\w+ db\.invalid$/],
  [
    'the password is wrong',
    `app:secret2@${host}/others`,
    'password authentication failed for user "app"'
  ],
  [
    'the database is wrong',
    `app:secret@${host}/none`,
    'database "none" does not exist'
  ],
  [
    'the password is missing',
    `app@${host}/others`,
    'client password must be a string'
  ],
  [
    'the role may not create tables',
    `app:secret@${host}/others`,
    'permission denied for schema public'
  ]
]

const unusable = 'the database, or DATABASE_URL, cannot be used: '
const latin1 = "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"

const mistakes: [title: string, Env, subject: string, Says][] = [
  ...urls.map(([title, url, says]): (typeof mistakes)[number] => [
    `in DATABASE_URL, ${title}`,
    { DATABASE_URL: `postgres://${url}` },
    unusable,
    says
  ]),
  [
    'DATABASE_SERVICE_ROLE does not exist',
    { DATABASE_URL, DATABASE_SERVICE_ROLE: 'nope' },
    unusable,
    'grants.sql failed: role "nope" does not exist'
  ],
  [
    'the database has another encoding',
    { DATABASE_URL: await createDatabase(t, latin1) },
    unusable,
    "must be UTF8, not LATIN1: create one with ENCODING 'UTF8'"
  ],
  [
    'DATA_DIR is a file',
    { DATA_DIR: '/dev/null' },
    'DATA_DIR cannot be used: ',
    /^E\w+: .*: correct this, or set DATA_DIR to another folder/
  ]
]

/** Migrates a database as `npm run migrate` does. */
async function migrate(config: Config, ofApi = api): Promise<void> {
  const opened = await openDatabase(config, ofApi, silent, new Metrics(), {
    mayShare: true
  })
  await opened.migrate().finally(opened.closeDatabase)
}

for (const [title, env, subject, says] of mistakes) {
  t.test(title, async (t) => {
    const config = loadConfig(env, noFile)
    const message = await migrate(config).then(() => 'no error', messageOf)
    t.ok(message.startsWith(subject), message)
    isOneLine(t, message.replace(subject, ''), says)
  })
}

t.test('a faulty migration is not blamed on DATA_DIR', async (t) => {
  const folder = t.testdir({ migrations: { '9999_toys.sql': 'CREATE TOY' } })
  const migrationsFolder = pathToFileURL(`${folder}/migrations/`)
  const DATA_DIR = temporaryFolder(t)
  copyData(DATA_DIR)

  const config = loadConfig({ DATA_DIR }, noFile)
  await t.rejects(migrate(config, { ...api, migrationsFolder }), {
    message: /: 9999_toys\.sql failed: syntax error at .+$/
  })
})

t.test('a faulty schema is not blamed on HOST or PORT', async (t) => {
  const document = readFileSync(notes.openapiFile, 'utf8')
  const faulty = document.replace(/( +)format: int64\n/, '$&$1enum: [1]\n')
  const folder = t.testdir({ 'openapi.yaml': faulty })
  const openapiFile = pathToFileURL(`${folder}/openapi.yaml`)
  Object.assign(process.env, { DATABASE_URL, PORT: '0', LOG_LEVEL: 'silent' })

  const message = await start({ ...notes, openapiFile }).then(stop, messageOf)
  isOneLine(t, message ?? '', / due to error an int64 cannot have an enum$/)
})

/** What command lines say in an empty folder. */
const commandLines: [command: string, env: Env, says: Says][] = [
  [
    'main.ts --port 4000',
    {},
    'unknown argument --port: set variables, as in PORT=4000 npm start'
  ],
  [
    'main.ts',
    { DATABASE_URL, PORT: '0', METRICS_PORT: String(otherPort) },
    `in use 127.0.0.1:${otherPort}: set HOST or METRICS_PORT`
  ],
  [
    'main.ts',
    { DATABASE_URL, PORT: String(otherPort) },
    `in use 127.0.0.1:${otherPort}: set HOST or PORT`
  ],
  [
    'main.ts',
    { DATABASE_URL, PORT: '0', HOST: 'none.invalid' },
    /^getaddrinfo \w+ none\.invalid: set HOST or PORT$/
  ],
  [
    'commands/migrate.ts --check',
    { DATABASE_URL, FIRST_API_KEY_FILE: import.meta.filename },
    /^FIRST_API_KEY_FILE must have an API key: \w+, 40 hex.* their SHA-256$/
  ],
  ['commands/keys.ts creat', {}, /unknown command 'creat' \(Did you mean/],
  [
    'commands/keys.ts revoke 99',
    { DATABASE_URL },
    'There is no valid key 99; see: keys list'
  ],
  ['commands/migrate.ts --chekc', {}, "Unknown option '--chekc'"],
  ['commands/migrate.ts check', {}, "Unexpected argument 'check'"]
]

/** The line of an output: all lines but those of the log below warnings. */
const reportIn = (output: string): string =>
  output
    .trimEnd()
    .split('\n')
    .filter((line) => !/^\{"level":[1-3]0,/.test(line))
    .join('\n')
    .replace(/^[\w-]+: /, '')

t.test('each mistake on a command line is one line', async (t) => {
  const cwd = t.testdir()
  const check = async ([command, env, says]: (typeof commandLines)[number]) => {
    const [file = '', ...args] = command.split(' ')
    const words = [...script(`src/${file}`), ...args]
    // As a shell may say, in which another project uses pg's native driver.
    const shell = { NODE_PG_FORCE_NATIVE: '1', ...env }
    const { code, output } = await call(t, words, { cwd, env: shell })
    t.equal(code, 1, command)
    isOneLine(t, reportIn(output), says)
  }
  await Promise.all(commandLines.map(check))
})

/** A folder with what `npm start` runs first, outside of our node_modules. */
function freshClone(t: Test, engines: string): string {
  const folder = temporaryFolder(t)
  for (const name of ['src', 'test/run.ts', 'tools/run.js'])
    cpSync(name, path.join(folder, name), { recursive: true })

  const packageJson = JSON.parse(readFileSync('package.json', 'utf8')) as object
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify({ ...packageJson, engines: { node: engines } })
  )

  return folder
}

const [major] = process.versions.node.split('.')
/** What npm commands say in a fresh clone, by the Node.js that it needs. */
const installations: [engines: string, command: string, says: string][] = [
  ['>=20.19', 'start', 'packages are missing: run `npm ci`'],
  [
    '>=20.19',
    'run start:build',
    'dist/src/main.js is missing: run `npm run build`'
  ],
  [
    `>=${major}.99`,
    'test',
    `Node.js ${major}.99 or later is needed, not ${process.versions.node}`
  ]
]

t.test('Git for Windows leaves line ends as they are', (t) => {
  const repository = t.testdir()
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'core.autocrlf=true', ...args], {
      cwd: repository
    })
  git('init', '-q')
  const shellScript = 'src/framework/embedded/end-with-parent.sh'
  const files = ['.gitattributes', shellScript, 'deploy/errors/400.http']
  for (const file of files) cpSync(file, path.join(repository, file))
  git('add', '.')
  for (const file of files) rmSync(path.join(repository, file))
  git('checkout', '-q', '.')

  for (const file of files) {
    const checkedOut = readFileSync(path.join(repository, file), 'utf8')
    t.equal(checkedOut, readFileSync(file, 'utf8'), file)
  }
  t.end()
})

t.test('pnpm passes on --', async (t) => {
  const env = { DATABASE_URL }
  const command = ['node', 'tools/run.js', 'src/commands/keys.ts']
  const { code, output } = await call(t, [...command, '--', 'list'], { env })
  t.equal(code, 0, output)
})

t.test('an installation', async (t) => {
  for (const [engines, command, says] of installations) {
    const { code, output } = await call(
      t,
      ['npm', '-s', ...command.split(' ')],
      { cwd: freshClone(t, engines), env: { npm_config_loglevel: 'silent' } }
    )
    t.equal(code, 1)
    isOneLine(t, reportIn(output), says)
  }
})
