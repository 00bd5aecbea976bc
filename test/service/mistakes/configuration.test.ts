// Mistakes that reading the configuration finds.
import path from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/framework/config.ts'
import { messageOf } from '../../../src/framework/log.ts'
import { isOneLine, type Mistake, prefix } from './assertions.ts'

/** What a user writes into the environment and `.env`. */
interface Settings {
  env?: Record<string, string>
  /** The contents of `.env`, or of a folder of this name. */
  envFile?: string | Record<string, string>
}

/** Reads the configuration. Returns the lines on stderr, or of the error. */
function readingSays(t: Test, { env = {}, envFile }: Settings) {
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

const mistakesOfConfiguration: (Mistake & Settings)[] = [
  {
    title: 'PORT is not a number',
    env: { PORT: 'abc' },
    says: 'PORT must be a port, from 0 to 65535'
  },
  {
    title: 'PORT is not a number in .env',
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

t.test('each of several mistakes has its line', (t) => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud', MIGRATE_ON_START: 'TRUE' }
  const [text = ''] = readingSays(t, { env })

  t.match(text.split('\n'), [
    /^PORT must be /,
    /^MIGRATE_ON_START must be /,
    /^LOG_LEVEL must be /
  ])
  t.end()
})

t.test('names of other programs are theirs', (t) => {
  const env = { PGPORT: '1', HOSTNAME: 'x', DATABASE: 'x', LOGNAME: 'x' }
  const isMeant = { DATABASE_URI: 'x', DATABASE_URL: 'postgres://host' }
  t.same(readingSays(t, { env: { ...env, ...isMeant } }), [])
  t.end()
})

t.test('what .env may have', (t) => {
  const contents = `\uFEFFPORT="1"\r\nexport HOST = '127.0.0.2'\r\n`
  const file = path.join(t.testdir({ '.env': contents }), '.env')
  t.match(loadConfig({}, file), { PORT: 1, HOST: '127.0.0.2' })
  t.end()
})
