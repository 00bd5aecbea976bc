import path from 'node:path'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { loadConfig, trustedProxies } from '../../src/framework/config.ts'
import { messageOf } from '../../src/framework/log.ts'
import { noFile } from '../support/service.ts'

/** What a user writes into the environment and `.env`. */
interface Settings {
  env?: Record<string, string>
  /** The contents of `.env`, or of a folder of this name. */
  envFile?: string | Buffer | Record<string, string>
}

/** Writes `.env` with these contents, and returns its path. */
function envFilePath(t: Test, { envFile }: Settings): string {
  const files = envFile === undefined ? {} : { '.env': envFile }
  return path.join(t.testdir(files), '.env')
}

const read = (t: Test, settings: Settings) =>
  loadConfig(settings.env ?? {}, envFilePath(t, settings))

/** The line that is reported, or the message of the error. */
function readingSays(t: Test, settings: Settings): string {
  const file = envFilePath(t, settings)
  const lines: string[] = []
  try {
    loadConfig(settings.env ?? {}, file, (line) => lines.push(line))
  } catch (error) {
    lines.push(messageOf(error))
  }
  return lines.join('\n').replace(file, '.env')
}

const mistakes: (Settings & { title: string; says: string | RegExp })[] = [
  {
    title: 'a number is below its limit',
    env: { MAX_CONNECTIONS: '0' },
    says: 'MAX_CONNECTIONS must be a whole number, at least 1'
  },
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
    says: 'DATABASE_URL must be one URL that starts with postgres://'
  },
  {
    title: 'DATABASE_URL has quotes',
    env: { DATABASE_URL: '"postgres://user:secret@host/db"' },
    says: 'DATABASE_URL must be one URL that starts with postgres://'
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
  },
  {
    title: 'DATABASE_URL has several servers',
    env: {
      DATABASE_URL: 'postgres://user:secret@a/x,postgres://user:secret@b/x'
    },
    says: 'DATABASE_URL must be one URL that starts with postgres://'
  },
  {
    title: 'DATA_DIR has a ~ in quotes, which the shell leaves alone',
    env: { DATA_DIR: '~/x' },
    says: 'DATA_DIR must not start with ~, which only a shell replaces: write the whole path'
  },
  {
    title: '.env is in UTF-16',
    envFile: Buffer.from('\uFEFFPORT=1', 'utf16le'),
    says: '.env must be a text file in UTF-8'
  },
  {
    title: 'a value in .env is broken over two lines',
    envFile: 'PORT=1\nuser:secret@host/db?sslmode=require\nport=2',
    says: '.env: ignoring port: did you mean PORT?'
  },
  {
    title: 'OTEL_EXPORTER_OTLP_ENDPOINT has no scheme',
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' },
    says: 'OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL such as http://127.0.0.1:4318'
  },
  {
    title: 'OTEL_TRACES_SAMPLER_ARG is a percentage',
    env: { OTEL_TRACES_SAMPLER_ARG: '50%' },
    says: 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, such as 0.01'
  }
]

for (const { title, says, ...settings } of mistakes) {
  t.test(title, (t) => {
    const text = readingSays(t, settings)
    if (typeof says === 'string') t.equal(text, says)
    else t.match(text, says)
    t.notMatch(text, /secret|\n/)
    t.end()
  })
}

t.test('each of several mistakes has its line', (t) => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud', MIGRATE_ON_START: 'TRUE' }
  t.match(readingSays(t, { env }).split('\n'), [
    /^PORT must be /,
    /^MIGRATE_ON_START must be /,
    /^LOG_LEVEL must be /
  ])
  t.end()
})

t.test('names of other programs are theirs', (t) => {
  const env = { PGPORT: '1', HOSTNAME: 'x', DATABASE: 'x', LOGNAME: 'x' }
  const isMeant = { DATABASE_URI: 'x', DATABASE_URL: 'postgres://host' }
  t.equal(readingSays(t, { env: { ...env, ...isMeant } }), '')
  t.end()
})

const defaults = {
  PORT: 3000,
  HOST: '127.0.0.1',
  MIGRATE_ON_START: true,
  DATABASE_URL: undefined,
  METRICS_PORT: undefined
}

const readings: (Settings & { title: string; config: object })[] = [
  { title: 'nothing is set', config: defaults },
  {
    title: 'an empty variable counts as unset',
    env: { PORT: '', DATABASE_URL: '' },
    envFile: 'HOST=\nMETRICS_PORT=',
    config: defaults
  },
  {
    title: 'the environment takes precedence',
    env: { HOST: '192.0.2.2', LOG_LEVEL: '' },
    envFile: 'PORT=1\nHOST=192.0.2.1\nLOG_LEVEL=debug',
    config: { PORT: 1, HOST: '192.0.2.2', LOG_LEVEL: 'debug' }
  },
  {
    title: 'values have types',
    env: {
      PORT: '0',
      MIGRATE_ON_START: 'false',
      OTEL_TRACES_SAMPLER_ARG: '0.5'
    },
    config: { PORT: 0, MIGRATE_ON_START: false, OTEL_TRACES_SAMPLER_ARG: 0.5 }
  },
  {
    title: '.env may come from Windows or a shell',
    envFile: `\uFEFFPORT="1"\r\nexport HOST = '127.0.0.2'\r\n`,
    config: { PORT: 1, HOST: '127.0.0.2' }
  },
  ...[
    'sslmode=disable',
    'sslmode=no-verify',
    'a=b&sslmode=verify-full',
    'sslmode=require&uselibpqcompat=true'
  ].map((mode) => ({
    title: `${mode} is left alone`,
    env: { DATABASE_URL: `postgres://host/db?${mode}` },
    config: { DATABASE_URL: `postgres://host/db?${mode}` }
  }))
]

for (const { title, config, ...settings } of readings) {
  t.test(title, (t) => {
    t.match(read(t, settings), config)
    t.end()
  })
}

t.test('sslmode=require keeps its meaning in node-postgres', (t) => {
  const DATABASE_URL = 'postgres://host/db?sslmode=require&a=b'
  const config = loadConfig({ DATABASE_URL }, noFile, () => {})
  t.equal(config.DATABASE_URL, 'postgres://host/db?sslmode=verify-full&a=b')
  t.end()
})

t.test('DATABASE_URL may come from a file of its own', (t) => {
  const folder = t.testdir({ url: 'postgres://user:pw@host/db\n' })
  const env = { DATABASE_URL_FILE: path.join(folder, 'url') }
  const { DATABASE_URL } = loadConfig(env, noFile)
  t.equal(DATABASE_URL, 'postgres://user:pw@host/db')
  t.end()
})

t.test('TRUST_PROXY is a hop count, or addresses and networks', (t) => {
  /** Lets Fastify judge the value, too. */
  function start(value: string) {
    const { TRUST_PROXY } = loadConfig({ TRUST_PROXY: value }, noFile)
    return Fastify({ trustProxy: trustedProxies(TRUST_PROXY) })
  }
  const valid = [
    '2',
    '10.0.0.0/8, ::1,fd00::/8,192.0.2.1',
    '10.0.0.0/32',
    '::1/128',
    '::ffff:10.0.0.1'
  ]
  const invalid =
    'true 10.0.0.0/8/8 10.0.0.0/ 10.1 10.0.0.256 999.1.1.1 10.0.0.0/99 ' +
    '10.0.0.0/0 ::1/x 1.2.3.4, -1 1,10.0.0.0/8 1000'

  for (const value of valid) t.doesNotThrow(() => start(value), value)
  for (const value of invalid.split(' '))
    t.throws(() => start(value), /^TRUST_PROXY must be a hop count/, value)
  t.end()
})
