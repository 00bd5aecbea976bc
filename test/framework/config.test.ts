import path from 'node:path'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { loadConfig, trustedProxies } from '../../src/framework/config.ts'
import {
  commonVariables,
  formerNames,
  rarelyNeededVariables
} from '../../src/framework/config/variables.ts'
import { noFile } from '../support/service.ts'

/** Writes `.env` with these contents, and returns its path. */
const envFile = (t: Test, contents: string | Buffer) =>
  path.join(t.testdir({ '.env': contents }), '.env')

t.test('a variable that is not set has its default', (t) => {
  t.match(loadConfig({}, noFile), {
    PORT: 3000,
    HOST: '127.0.0.1',
    DATA_DIR: './.data',
    MIGRATE_ON_START: true,
    MAX_BODY_BYTES: 65536,
    DATABASE_URL: undefined
  })
  t.end()
})

t.test('an empty variable counts as unset', (t) => {
  const defaults = loadConfig({}, noFile)

  t.same(
    loadConfig({ PORT: '', DATABASE_URL: '', ANSWER_TIMEOUT: '' }, noFile),
    defaults
  )
  t.same(loadConfig({}, envFile(t, 'PORT=\nDATABASE_URL=')), defaults)
  t.end()
})

t.test('the environment takes precedence over .env', (t) => {
  const file = envFile(t, 'PORT=1\nHOST=192.0.2.1\nLOG_LEVEL=debug')

  const config = loadConfig({ HOST: '192.0.2.2', LOG_LEVEL: '' }, file)

  t.match(config, { PORT: 1, HOST: '192.0.2.2', LOG_LEVEL: 'debug' })
  t.end()
})

t.test('a missing .env is not an error', (t) => {
  t.same(loadConfig({}, 'no such file'), loadConfig({}, noFile))
  t.end()
})

t.test('values have the types of their variables', (t) => {
  const config = loadConfig(
    { PORT: '0', MIGRATE_ON_START: 'false', ENVIRONMENT: 'staging' },
    noFile
  )

  t.match(config, { PORT: 0, MIGRATE_ON_START: false, ENVIRONMENT: 'staging' })
  t.equal(
    loadConfig({ MIGRATE_ON_START: 'true' }, noFile).MIGRATE_ON_START,
    true
  )
  t.end()
})

t.test('former names are all reported, each in its line', (t) => {
  const variables = { ANSWER_TIMEOUT: '1', RATE_LIMIT_MAX: '2' }
  t.throws(() => loadConfig(variables, noFile), {
    message:
      'RATE_LIMIT_MAX is now MAX_REQUESTS_PER_MINUTE: rename it\n' +
      'ANSWER_TIMEOUT is now SEND_TIMEOUT_MS: rename it'
  })
  t.end()
})

t.test('.env must be in UTF-8', (t) => {
  const file = envFile(t, Buffer.from('\uFEFFPORT=1', 'utf16le'))
  const message = /\.env must be a text file in UTF-8$/
  t.throws(() => loadConfig({}, file), { message })
  t.end()
})

t.test('sslmode keeps the meaning that node-postgres gives it', (t) => {
  const url = (modes: string[]) =>
    modes.map((mode) => `postgres://host/db?a=b&sslmode=${mode}`).join()
  const applied = (modes: string[]) =>
    loadConfig({ DATABASE_URL: url(modes) }, noFile).DATABASE_URL
  t.capture(console, 'error')

  const exact = ['disable', 'no-verify', 'verify-full']
  t.equal(applied(exact), url(exact))
  t.equal(applied(['require', 'prefer']), url(['verify-full', 'verify-full']))
  const asLibpq = ['require&uselibpqcompat=true']
  t.equal(applied(asLibpq), url(asLibpq))
  t.end()
})

t.test('every former name leads to a variable', (t) => {
  const names = Object.keys({ ...commonVariables, ...rarelyNeededVariables })
  for (const name of Object.values(formerNames)) t.ok(names.includes(name))
  t.end()
})

t.test('DATABASE_URL may come from a file of its own', (t) => {
  const folder = t.testdir({
    url: 'postgres://user:pw@host/db\n',
    empty: '',
    host: 'host'
  })
  const read = (file: string) =>
    loadConfig({ DATABASE_URL_FILE: path.join(folder, file) }, noFile)

  t.match(read('url'), { DATABASE_URL: 'postgres://user:pw@host/db' })
  for (const file of ['empty', 'host'])
    t.throws(() => read(file), {
      message:
        'DATABASE_URL_FILE must contain a URL that starts with postgres://'
    })
  t.end()
})

t.test('unknown names in .env are reported without their values', (t) => {
  const errors = t.capture(console, 'error')
  const file = envFile(
    t,
    `DATABASE_URLL=postgres://user:secret@host/db
PORT=1
port=2
user:secret@host/db?sslmode=require`
  )

  t.equal(loadConfig({ UNRELATED: 'x' }, file).PORT, 1)

  const lines = errors().map(({ args }) => String(args))
  t.same(lines, [
    `${file}: ignoring DATABASE_URLL: did you mean DATABASE_URL?`,
    `${file}: ignoring port: did you mean PORT?`
  ])
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
