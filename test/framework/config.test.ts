import path from 'node:path'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { loadConfig, trustedProxies } from '../../src/framework/config.ts'
import { messageOf } from '../../src/framework/message-of.ts'
import { noFile } from '../support/service.ts'

type EnvFile = string | Buffer | Record<string, string>

/** What a user writes into the environment and `.env`. */
interface Settings {
  env?: Record<string, string>
  /** The contents of `.env`, or of a folder of this name. */
  envFile?: EnvFile
}

/** Writes `.env` with these contents, and returns its path. */
function envFilePath(t: Test, { envFile }: Settings): string {
  const files = envFile === undefined ? {} : { '.env': envFile }
  return path.join(t.testdir(files), '.env')
}

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

const at = 'postgres://user:secret@host/db'

/** Mistakes in the environment, by the line that reports them. */
const inEnvironment: Record<string, Record<string, string>[]> = {
  'PORT must be a port, from 0 to 65535': [{ PORT: 'abc' }, { PORT: '70000' }],
  'MAX_CONNECTIONS must be a whole number, at least 1': [
    { MAX_CONNECTIONS: '0' }
  ],
  'MAX_BODY_BYTES must be a whole number of bytes, at least 1': [
    { MAX_BODY_BYTES: '64kb' }
  ],
  'REQUEST_TIMEOUT_MS must be a whole number of milliseconds, from 1 to 86400000':
    [{ REQUEST_TIMEOUT_MS: '30s' }],
  'IDEMPOTENCY_KEY_HOURS must be a whole number of hours, from 24 to 8760': [
    { IDEMPOTENCY_KEY_HOURS: '1' }
  ],
  'LOG_LEVEL must be one of: fatal, error, warn, info, debug, trace, silent': [
    { LOG_LEVEL: 'INFO' }
  ],
  'MIGRATE_ON_START must be true or false': [{ MIGRATE_ON_START: 'yes' }],
  'CORS_ORIGINS must be comma-separated origins such as https://example.com, without spaces and paths':
    [{ CORS_ORIGINS: 'https://a.example/' }],
  'METRICS_PORT must not be 3000, the value of PORT': [
    { PORT: '3000', METRICS_PORT: '3000' }
  ],
  'DATABASE_URL must be one URL that starts with postgres://': [
    { DATABASE_URL: 'mysql://user:secret@host/db' },
    { DATABASE_URL: `"${at}"` },
    { DATABASE_URL: `${at},${at}` }
  ],
  'DATABASE_URL must have one of these as sslmode: disable, no-verify, verify-full':
    [{ DATABASE_URL: `${at}?sslmode=bogus` }],
  'DATABASE_URL must have sslmode instead of ssl_mode': [
    { DATABASE_URL: `${at}?ssl_mode=verify-full` }
  ],
  'DATABASE_URL: sslmode=require is applied as verify-full: write that': [
    { DATABASE_URL: `${at}?sslmode=require` }
  ],
  "DATABASE_URL_FILE must be a readable file: ENOENT: no such file or directory, open '/none/url'":
    [{ DATABASE_URL_FILE: '/none/url' }],
  'DATABASE_URL and DATABASE_URL_FILE must not both be set': [
    { DATABASE_URL: at, DATABASE_URL_FILE: 'b' }
  ],
  'DATABASE_URL_FILE must contain a URL that starts with postgres://': [
    { DATABASE_URL_FILE: '/dev/null' }
  ],
  'DATA_DIR must not start with ~, which only a shell replaces: write the whole path':
    [{ DATA_DIR: '~/x' }],
  'OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL such as http://127.0.0.1:4318':
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }],
  'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, such as 0.01': [
    { OTEL_TRACES_SAMPLER_ARG: '50%' }
  ],
  'environment: ignoring LOGLEVEL: did you mean LOG_LEVEL?': [
    { LOGLEVEL: 'debug' }
  ]
}

/** Mistakes in `.env`. */
const inFile: Record<string, EnvFile[]> = {
  'PORT must be a port, from 0 to 65535': ['PORT=3000.5'],
  '.env: write LOG_LEVEL=value instead of LOG_LEVEL: value': [
    'LOG_LEVEL: debug'
  ],
  '.env must be a readable file: EISDIR: illegal operation on a directory, read':
    [{}],
  '.env must be a text file in UTF-8': [Buffer.from('\uFEFFPORT=1', 'utf16le')],
  '.env: ignoring DATABSE_URL: did you mean DATABASE_URL?': [
    `DATABSE_URL=${at}`
  ],
  '.env: ignoring SOMETHING_ELSE: no variable has this name': [
    'SOMETHING_ELSE=secret'
  ],
  // The second line has no name.
  '.env: ignoring port: did you mean PORT?': [
    'PORT=1\nuser:secret@host/db?sslmode=require\nport=2'
  ]
}

const mistakes = [
  ...Object.entries(inEnvironment).flatMap(([says, environments]) =>
    environments.map((env): [string, Settings] => [says, { env }])
  ),
  ...Object.entries(inFile).flatMap(([says, files]) =>
    files.map((envFile): [string, Settings] => [says, { envFile }])
  )
]

for (const [says, settings] of mistakes) {
  t.test(says, (t) => {
    const text = readingSays(t, settings)
    t.equal(text, says)
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

const withMode = (mode: string) => ({
  DATABASE_URL: `postgres://host/db?${mode}`
})

/** What is read, by the case. */
const readings: Record<string, Settings & { config: object }> = {
  'nothing is set': { config: defaults },
  'an empty variable counts as unset': {
    env: { PORT: '', DATABASE_URL: '' },
    envFile: 'HOST=\nMETRICS_PORT=',
    config: defaults
  },
  'the environment takes precedence': {
    env: { HOST: '192.0.2.2', LOG_LEVEL: '' },
    envFile: 'PORT=1\nHOST=192.0.2.1\nLOG_LEVEL=debug',
    config: { PORT: 1, HOST: '192.0.2.2', LOG_LEVEL: 'debug' }
  },
  'values have types': {
    env: {
      PORT: '0',
      MIGRATE_ON_START: 'false',
      OTEL_TRACES_SAMPLER_ARG: '0.5'
    },
    config: { PORT: 0, MIGRATE_ON_START: false, OTEL_TRACES_SAMPLER_ARG: 0.5 }
  },
  '.env may come from Windows or a shell': {
    envFile: `\uFEFFPORT="1"\r\nexport HOST = '127.0.0.2'\r\n`,
    config: { PORT: 1, HOST: '127.0.0.2' }
  },
  'sslmode=require keeps its meaning in node-postgres': {
    env: withMode('sslmode=require&a=b'),
    config: withMode('sslmode=verify-full&a=b')
  }
}
const unchanged = [
  'sslmode=disable',
  'sslmode=no-verify',
  'a=b&sslmode=verify-full',
  'sslmode=require&uselibpqcompat=true'
].map(withMode)
for (const config of unchanged)
  readings[config.DATABASE_URL] = { env: config, config }

for (const [title, { config, ...settings }] of Object.entries(readings)) {
  t.test(title, (t) => {
    const file = envFilePath(t, settings)
    t.match(
      loadConfig(settings.env ?? {}, file, () => {}),
      config
    )
    t.end()
  })
}

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
