import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { configSchema, loadConfig, trustedProxies } from '../src/config.ts'
import { noFile } from './support/service.ts'

t.test('without variables the defaults hold, and an empty variable counts as absent', (t) => {
  const defaults = loadConfig({}, noFile)
  t.match(defaults, {
    PORT: 3000,
    HOST: '127.0.0.1',
    DATA_DIR: './.data',
    BODY_LIMIT: 65536,
    ENVIRONMENT: 'development'
  })
  t.equal(defaults.DATABASE_URL, undefined)
  t.same(loadConfig({ PORT: '', DATABASE_URL: '', UNRELATED: 'x' }, noFile), defaults)
  t.end()
})

t.test('each wrong variable is named, with what it must be', (t) => {
  const fails = (variables: Record<string, string>, message: string) =>
    t.throws(() => loadConfig(variables, noFile), { message })
  fails({ PORT: '70000' }, 'PORT must be <= 65535')
  fails(
    { PORT: 'x', LOG_LEVEL: 'loud' },
    'PORT must be an integer, not "x"\nLOG_LEVEL must be one of: fatal, error, warn, info, debug, trace, silent'
  )
  fails({ DATABASE_URL: 'mysql://user:secret@host' }, 'DATABASE_URL must match the pattern ^postgres(ql)?://')
  fails(
    { DATABASE_URL: 'postgres://a', DATABASE_URL_FILE: 'b' },
    'DATABASE_URL and DATABASE_URL_FILE must not both be set'
  )
  t.throws(() => loadConfig({}, '.'), { code: 'EISDIR' })
  t.end()
})

t.test('variables may come from a file, and DATABASE_URL from one of its own', (t) => {
  const folder = t.testdir({ env: 'PORT=1\nHOST=file', url: 'postgres://user:pw@host/db\n', bad: 'host' })
  t.match(loadConfig({ HOST: 'given' }, path.join(folder, 'env')), { PORT: 1, HOST: 'given' })
  t.match(loadConfig({ DATABASE_URL_FILE: path.join(folder, 'url'), PORT: '7' }, noFile), {
    DATABASE_URL: 'postgres://user:pw@host/db',
    PORT: 7
  })
  t.throws(() => loadConfig({ DATABASE_URL_FILE: path.join(folder, 'bad') }, noFile), {
    message: /^DATABASE_URL must match/
  })
  t.end()
})

t.test('.env.example and the table of the README have every variable with its default', (t) => {
  const properties: Record<string, { default?: string | number | boolean; description: string }> =
    configSchema.properties
  const example = readFileSync('.env.example', 'utf8').replace(/^# ?(?=[A-Z_]+=)/gm, '')
  t.same(
    parseEnv(example),
    Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, String(property.default ?? '')]))
  )
  const readme = readFileSync('README.md', 'utf8').replace(/ +/g, ' ')
  for (const [name, { default: value, description }] of Object.entries(properties)) {
    const shown = value === undefined ? ' ' : ` \`${value}\` `
    t.ok(readme.includes(`| \`${name}\` |${shown}| ${description} |`), name)
  }
  t.end()
})

t.test('TRUST_PROXY is a number of proxies, or their addresses and networks', (t) => {
  t.equal(trustedProxies(undefined), false)
  t.same(trustedProxies('10.0.0.0/8, ::1,fd00::/8,192.0.2.1'), ['10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.1'])
  const two = trustedProxies('2') as (address: string, hop: number) => boolean
  t.same(
    [0, 1, 2].map((hop) => two('192.0.2.1', hop)),
    [true, true, false]
  )
  for (const wrong of ['true', '10.0.0.0/33', '10.0.0.0/8/8', '::1/x', '10.0.0.256', '1.2.3.4,', '-1']) {
    t.throws(() => trustedProxies(wrong), { message: /^TRUST_PROXY must be a number or addresses such as/ }, wrong)
  }
  t.end()
})
