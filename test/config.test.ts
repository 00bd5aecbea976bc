import path from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import { loadConfig, trustedProxies } from '../src/config.ts'
import { noFile } from './support/service.ts'

t.test(
  'without variables the defaults apply, and an empty variable counts as absent',
  (t) => {
    const defaults = loadConfig({}, noFile)
    t.match(defaults, {
      PORT: 3000,
      HOST: '127.0.0.1',
      DATA_DIR: './.data',
      MAX_BODY_BYTES: 65536,
      DATABASE_URL: undefined
    })
    t.same(
      loadConfig({ PORT: '', DATABASE_URL: '', UNRELATED: 'x' }, noFile),
      defaults
    )
    t.same(
      loadConfig(
        {},
        path.join(t.testdir({ env: 'PORT=\nDATABASE_URL=' }), 'env')
      ),
      defaults
    )
    t.same(loadConfig({}, 'no such file'), defaults)
    t.end()
  }
)

t.test('an error names each invalid variable and what it must be', (t) => {
  for (const [variables, message] of [
    [{ PORT: '70000' }, 'PORT must be <= 65535'],
    [
      { PORT: 'x', LOG_LEVEL: 'loud' },
      'PORT must be integer\nLOG_LEVEL must be one of: fatal, error, warn, info, debug, trace, silent'
    ],
    [
      { DATABASE_URL: 'mysql://user:secret@host' },
      'DATABASE_URL must start with postgres://'
    ],
    [{ MIGRATE_ON_START: 'yes' }, 'MIGRATE_ON_START must be true or false'],
    [
      { CORS_ORIGINS: 'example.com' },
      'CORS_ORIGINS must be comma-separated origins such as https://example.com'
    ],
    [
      { DATABASE_URL: 'postgres://a', DATABASE_URL_FILE: 'b' },
      'DATABASE_URL and DATABASE_URL_FILE must not both be set'
    ],
    [
      { DATABASE_URL_FILE: '.' },
      /^DATABASE_URL_FILE must name a readable file: EISDIR/
    ]
  ] as const) {
    t.throws(() => loadConfig(variables, noFile), { message })
  }
  t.end()
})

t.test(
  'variables may come from a file, and DATABASE_URL from a separate one',
  (t) => {
    const folder = t.testdir({
      env: 'PORT=1\nHOST=file',
      url: 'postgres://user:pw@host/db\n',
      bad: 'host'
    })
    const given = (file: string) =>
      loadConfig({ DATABASE_URL_FILE: path.join(folder, file) }, noFile)
    t.match(loadConfig({ HOST: 'given' }, path.join(folder, 'env')), {
      PORT: 1,
      HOST: 'given'
    })
    t.match(given('url'), { DATABASE_URL: 'postgres://user:pw@host/db' })
    t.throws(() => given('bad'), {
      message: 'DATABASE_URL must start with postgres://'
    })
    t.end()
  }
)

t.test(
  'unknown variables in the file are reported without their values',
  (t) => {
    const errors = t.capture(console, 'error')
    const env =
      'DATABASE_URLL=postgres://user:secret@host/db\nPORT=1\nport=2\nuser:secret@host/db?sslmode=require'
    const file = path.join(t.testdir({ env }), 'env')
    t.equal(loadConfig({ UNRELATED: 'x' }, file).PORT, 1)
    t.same(
      errors().map(({ args }) => String(args)),
      [
        `pet-categories: ${file}: ignoring unknown variables: DATABASE_URLL, port`
      ]
    )
    t.end()
  }
)

t.test('TRUST_PROXY is a hop count, or addresses and networks', (t) => {
  const start = (value: string) =>
    Fastify({
      trustProxy: trustedProxies(
        loadConfig({ TRUST_PROXY: value }, noFile).TRUST_PROXY
      )
    })
  for (const valid of [
    '2',
    '10.0.0.0/8, ::1,fd00::/8,192.0.2.1',
    '10.0.0.0/32',
    '::1/128',
    '::ffff:10.0.0.1'
  ]) {
    t.doesNotThrow(() => start(valid), valid)
  }
  const message =
    'TRUST_PROXY must be a hop count such as 1, or comma-separated addresses and networks such as 10.0.0.0/8'
  const invalid =
    'true 10.0.0.0/8/8 10.0.0.0/ 10.1 10.0.0.256 999.1.1.1 10.0.0.0/99 10.0.0.0/0 ::1/x 1.2.3.4, -1 1,10.0.0.0/8 1000'
  for (const value of invalid.split(' '))
    t.throws(() => start(value), { message }, value)
  t.end()
})
