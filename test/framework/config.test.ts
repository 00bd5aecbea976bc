import path from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/framework/config.ts'
import { messageOf } from '../../src/framework/message-of.ts'
import { noFile } from '../support/service.ts'

/** The contents of `.env`, or of a folder of this name. */
type EnvFile = string | Buffer | Record<string, string>

/** What a user writes into the environment and `.env`. */
interface Settings {
  env?: Record<string, string>
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

/** Origins as browsers send them. */
const origins =
  'http://example.com,https://xn--mnchen-3ya.example,http://[::1]:3000'

/** Wrong values, by the start of the line that reports them. */
const wrongValues: Record<string, string[]> = {
  'PORT must be integer: Port to listen on. 0 takes a free one.': [
    'abc',
    '1e3',
    '-1'
  ],
  'MIGRATE_ON_START must be boolean: ': ['TRUE'],
  'DATABASE_URL must match format "postgres": ': [
    'mysql://user:secret@host/db',
    'postgres://user:#secret@host/db',
    'postgres://${USER}:${PASSWORD}@host/db',
    'postgres://user:secret word@host/db',
    'postgres://user:se/cret@host/db'
  ],
  'DATABASE_URL_FILE must be a readable file in UTF-8: ENOENT: ': ['/none/url'],
  'DATA_DIR must match pattern ': ['~/x', '$HOME/x', 'x ', '"x"'],
  'CORS_ORIGINS must match format "origins": ': [
    '*',
    'https://a.example,',
    'https://Example.com',
    'https://münchen.example'
  ]
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
  '.env: ignoring constructor: no variable has this name': ['constructor=x'],
  '.env: line 2 sets PORT again: remove one of the two': [
    'PORT=\nexport PORT=1'
  ],
  '.env: line 2 must be NAME=value: write a value that has #, ': [
    'LOG_LEVEL: debug',
    'LOG_LEVEL="debug',
    'LOG_LEVEL=debug#comment',
    'LOG_LEVEL="de\\bug"'
  ].map((line) => `PORT=1\n${line}\n`)
}

/** Tests that a mistake is one line that begins with this, without secrets. */
const testMistake = (says: string, settings: Settings) =>
  t.test(says, (t) => {
    const text = readingSays(t, settings)
    t.ok(text.startsWith(says), text)
    t.notMatch(text, /secret|\n/)
    t.end()
  })

for (const [says, values] of Object.entries(wrongValues)) {
  const [name = ''] = says.split(' ')
  for (const value of values) testMistake(says, { env: { [name]: value } })
}

for (const [says, files] of Object.entries(inFile))
  for (const envFile of files) testMistake(says, { envFile })

testMistake('DATABASE_URL and DATABASE_URL_FILE must not both be set', {
  env: { DATABASE_URL: at, DATABASE_URL_FILE: 'b' }
})
testMistake('DATABASE_URL must match format "postgres": ', {
  env: { DATABASE_URL_FILE: '/dev/null' }
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

/** What is read, by the case. */
const readings: Record<string, Settings & { config: object }> = {
  'an empty variable counts as unset': {
    env: { PORT: '', DATABASE_URL: '' },
    envFile: 'HOST=\nMETRICS_PORT=',
    config: {
      PORT: 3000,
      HOST: '127.0.0.1',
      MIGRATE_ON_START: true,
      DATABASE_URL: undefined,
      METRICS_PORT: undefined
    }
  },
  'the environment takes precedence': {
    env: { HOST: '192.0.2.2', LOG_LEVEL: '' },
    envFile: 'PORT=1\nHOST=192.0.2.1\nLOG_LEVEL=debug',
    config: { PORT: 1, HOST: '192.0.2.2', LOG_LEVEL: 'debug' }
  },
  'values have types': {
    env: { PORT: '0', MIGRATE_ON_START: 'false', DATABASE_SERVICE_ROLE: '1' },
    config: { PORT: 0, MIGRATE_ON_START: false, DATABASE_SERVICE_ROLE: '1' }
  },
  '.env may come from Windows or a shell': {
    envFile: `\uFEFFPORT="1"\r\nexport HOST = '127.0.0.2'\r\n`,
    config: { PORT: 1, HOST: '127.0.0.2' }
  },
  '.env has comments, quotes and spaces': {
    envFile: `# it's "a" comment

  PORT=1 # first
DATA_DIR='a #"\\b'	# tab
DATABASE_SERVICE_ROLE=my role `,
    config: {
      PORT: 1,
      DATA_DIR: 'a #"\\b',
      DATABASE_SERVICE_ROLE: 'my role'
    }
  },
  'several origins': {
    env: { CORS_ORIGINS: origins },
    config: { CORS_ORIGINS: origins }
  }
}

for (const [title, { config, ...settings }] of Object.entries(readings)) {
  t.test(title, (t) => {
    const file = envFilePath(t, settings)
    t.match(loadConfig(settings.env ?? {}, file), config)
    t.end()
  })
}

t.test('DATABASE_URL may come from a file of its own', (t) => {
  const DATABASE_URL_FILE = path.join(t.testdir({ url: `${at}\n` }), 'url')
  t.equal(loadConfig({ DATABASE_URL_FILE }, noFile).DATABASE_URL, at)
  t.end()
})

t.test('the environment overrides the database of .env', (t) => {
  const folder = t.testdir({
    url: at,
    'with-url': 'DATABASE_URL=postgres://host/other',
    'with-file': 'DATABASE_URL_FILE=/none/url'
  })
  const inFolder = (name: string) => path.join(folder, name)
  const env = { DATABASE_URL_FILE: inFolder('url') }
  t.equal(loadConfig(env, inFolder('with-url')).DATABASE_URL, at)
  const file = inFolder('with-file')
  t.equal(loadConfig({ DATABASE_URL: at }, file).DATABASE_URL, at)
  t.end()
})
