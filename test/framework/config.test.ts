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

/** What is reported, or the message of the error. */
function readingSays(t: Test, { env = {}, ...files }: Settings): string {
  const file = envFilePath(t, files)
  const reports = t.capture(console, 'error')
  let lines = ''
  try {
    loadConfig(env, file)
  } catch (error) {
    lines = messageOf(error)
  }
  for (const { args } of reports()) lines += args.join('\n')
  return lines.replace(file, '.env')
}

const at = 'postgres://user:secret@host/db'

/** Mistakes in the environment, by the start of the line that reports them. */
const inEnvironment: Record<string, Record<string, string>[]> = {
  'PORT must be integer: Port to listen on. 0 takes a free one.': [
    'abc',
    '3000.5',
    '3000.0',
    ' ',
    ' 1',
    '1 ',
    '1e3',
    '0x10',
    '01',
    '+1',
    '-1',
    '1_000',
    'true',
    '"1"',
    '١'
  ].map((PORT) => ({ PORT })),
  'PORT must be <= 65535: ': [{ PORT: '70000' }],
  'MIGRATE_ON_START must be boolean: ': [
    'TRUE',
    ' true',
    'yes',
    '1',
    '"true"'
  ].map((MIGRATE_ON_START) => ({ MIGRATE_ON_START })),
  'LOG_LEVEL must be equal to one of ': ['INFO', 'info ', '30'].map(
    (LOG_LEVEL) => ({ LOG_LEVEL })
  ),
  'DATABASE_URL must match pattern ': [
    { DATABASE_URL: 'mysql://user:secret@host/db' },
    { DATABASE_URL: `"${at}"` },
    { DATABASE_URL: `${at} ` },
    { DATABASE_URL: 'postgres://user:#secret@host/db' },
    { DATABASE_URL: 'postgres://${USER}:${PASSWORD}@host/db' },
    { DATABASE_URL: 'postgres://user:secret word@host/db' },
    { DATABASE_URL_FILE: '/dev/null' }
  ],
  'OTEL_EXPORTER_OTLP_ENDPOINT must match pattern ': [
    { OTEL_EXPORTER_OTLP_ENDPOINT: '127.0.0.1:4318' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318 ' }
  ],
  'OTEL_BSP_MAX_EXPORT_BATCH_SIZE must be ': ['0', '-1', 'x', '1.5'].map(
    (OTEL_BSP_MAX_EXPORT_BATCH_SIZE) => ({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE })
  ),
  'CORS_ORIGINS must match format "origins": ': [
    '*',
    'null',
    'a.example',
    'localhost:3000',
    'https://*.a.example',
    'https://a.example,'
  ].map((CORS_ORIGINS) => ({ CORS_ORIGINS })),
  'DATABASE_URL_FILE must be a readable file in UTF-8: ENOENT: ': [
    { DATABASE_URL_FILE: '/none/url' }
  ],
  'DATABASE_URL and DATABASE_URL_FILE must not both be set': [
    { DATABASE_URL: at, DATABASE_URL_FILE: 'b' }
  ],
  'DATA_DIR must match pattern ': [{ DATA_DIR: '~/x' }, { DATA_DIR: '$HOME/x' }]
}

/** Mistakes in `.env`. */
const inFile: Record<string, EnvFile[]> = {
  '.env must be a readable file in UTF-8: EISDIR: ': [{}],
  '.env must be a readable file in UTF-8: The encoded data ': [
    Buffer.from('\uFEFFPORT=1', 'utf16le')
  ],
  '.env: ignoring DATABSE_URL: no variable has this name': [
    `PORT=1\nDATABSE_URL=${at}`
  ],
  '.env: line 2 must be NAME=value, with a new name: ': [
    'LOG_LEVEL: debug',
    'LOG_LEVEL debug',
    'LOG-LEVEL=debug',
    'set LOG_LEVEL=debug',
    'LOG_LEVEL="debug',
    `LOG_LEVEL='debug"`,
    'LOG_LEVEL="debug" info',
    'LOG_LEVEL=de"bug"',
    'LOG_LEVEL=`debug`',
    'LOG_LEVEL=debug#comment',
    'LOG_LEVEL="de\\bug"',
    'PORT=2',
    'export PORT=1',
    // A value that is broken over two lines.
    'user:secret@host/db?sslmode=require'
  ].map((line) => `PORT=1\n${line}\n`)
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
    t.ok(text.startsWith(says), text)
    t.notMatch(text, /secret|\n/)
    t.end()
  })
}

/** Origins as people write them, and as browsers send them. */
const spellings = {
  'https://Example.com': 'https://example.com',
  'HTTPS://example.com': 'https://example.com',
  'https://example.com/': 'https://example.com',
  'https://example.com/path?a#b': 'https://example.com',
  'https://example.com:443': 'https://example.com',
  'http://example.com:080': 'http://example.com',
  'https://user:secret@example.com': 'https://example.com',
  'https://münchen.example': 'https://xn--mnchen-3ya.example',
  'http://127.1': 'http://127.0.0.1',
  'http://[0:0::1]:3000': 'http://[::1]:3000',
  ' https://a.example, https://b.example': 'https://a.example,https://b.example'
}

t.test('an origin is written as browsers send it', (t) => {
  for (const [CORS_ORIGINS, spelling] of Object.entries(spellings)) {
    const text = readingSays(t, { env: { CORS_ORIGINS } })
    t.match(text, `CORS_ORIGINS must match format "origins" (write ${spelling}`)
    t.notMatch(text, 'secret')
    const read = loadConfig({ CORS_ORIGINS: spelling }, noFile)
    t.equal(read.CORS_ORIGINS, spelling)
  }
  t.end()
})

t.test('each of several mistakes has its line', (t) => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud', MIGRATE_ON_START: 'TRUE' }
  t.match(readingSays(t, { env }).split('\n'), [
    /^PORT must be /,
    /^MIGRATE_ON_START must be boolean: /,
    /^LOG_LEVEL must be equal to one of /
  ])
  t.end()
})

const defaults = {
  PORT: 3000,
  HOST: '127.0.0.1',
  MIGRATE_ON_START: true,
  DATABASE_URL: undefined,
  METRICS_PORT: undefined
}

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
    env: { PORT: '0', MIGRATE_ON_START: 'false' },
    config: { PORT: 0, MIGRATE_ON_START: false }
  },
  '.env may come from Windows or a shell': {
    envFile: `\uFEFFPORT="1"\r\nexport HOST = '127.0.0.2'\r\n`,
    config: { PORT: 1, HOST: '127.0.0.2' }
  },
  '.env has comments, quotes and spaces': {
    envFile: `# it's "a" comment

  PORT=1 # first
DATA_DIR='a #"\\b'	# tab
HOST="::1"
LOG_LEVEL=
DATABASE_SERVICE_ROLE=my role `,
    config: {
      PORT: 1,
      DATA_DIR: 'a #"\\b',
      HOST: '::1',
      LOG_LEVEL: 'info',
      DATABASE_SERVICE_ROLE: 'my role'
    }
  },
  'a text may look like a number': {
    env: { DATA_DIR: '1', DATABASE_SERVICE_ROLE: 'true', TRUST_PROXY: '2' },
    config: { DATA_DIR: '1', DATABASE_SERVICE_ROLE: 'true', TRUST_PROXY: '2' }
  },
  ...Object.fromEntries(
    [
      { OTEL_SDK_DISABLED: 'true' },
      { OTEL_SDK_DISABLED: 'True' },
      { OTEL_TRACES_EXPORTER: 'none' }
    ].map((off) => [
      `${JSON.stringify(off)} turns traces off`,
      {
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', ...off },
        config: { OTEL_EXPORTER_OTLP_ENDPOINT: undefined }
      }
    ])
  )
}

for (const [title, { config, ...settings }] of Object.entries(readings)) {
  t.test(title, (t) => {
    const file = envFilePath(t, settings)
    t.match(loadConfig(settings.env ?? {}, file), config)
    t.end()
  })
}

t.test('.env may set the variables of OpenTelemetry', (t) => {
  const env = { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: '' }
  const envFile = 'OTEL_SERVICE_NAME=y\nOTEL_TRACES_SAMPLER=always_off'
  t.equal(readingSays(t, { env, envFile }), '')
  t.same(env, { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_off' })
  t.end()
})

t.test('DATABASE_URL may come from a file of its own', (t) => {
  const DATABASE_URL_FILE = path.join(t.testdir({ url: `${at}\n` }), 'url')
  t.equal(loadConfig({ DATABASE_URL_FILE }, noFile).DATABASE_URL, at)
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
    '10.0.0.0/0 ::1/x 1.2.3.4, -1 1,10.0.0.0/8 1000 01'

  for (const value of valid) t.doesNotThrow(() => start(value), value)
  for (const value of invalid.split(' '))
    t.throws(() => start(value), /^TRUST_PROXY must match/, value)
  t.end()
})
