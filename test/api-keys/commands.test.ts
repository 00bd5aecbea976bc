import t, { type Test } from 'tap'
import { keyCommands } from '../../src/api-keys/commands.ts'
import { hashKey } from '../../src/api-keys/key.ts'
import { type KeyStore, keyStore } from '../../src/api-keys/store.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { createDatabase, query, silent } from '../support/database.ts'
import { keyPattern, run, script } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Runs a key command in this process. Returns all that it prints, and the exit code if commander ends the process. */
async function call(args: string[], store?: KeyStore) {
  let output = ''
  const write = (text: string) => (output += text)
  const program = keyCommands(async (action) => {
    write(await action(store as KeyStore))
  })
  for (const command of [program, ...program.commands]) {
    command.configureOutput({ writeOut: write, writeErr: write }).exitOverride()
  }
  const code = await program.parseAsync(args, { from: 'user' }).then(
    () => undefined,
    (error: Error & { exitCode?: number }) => {
      if (error.exitCode === undefined) throw error
      return error.exitCode
    }
  )
  return { code, output }
}

t.test('every key command has help, and a wrong call gets an error that names the mistake', async (t) => {
  const helps: [string[], string][] = [
    [['--help'], 'Usage: pet-categories-keys [options] [command]'],
    [['create', '--help'], '--expires <duration>'],
    [['list', '--help'], '--json'],
    [['rotate', '--help'], '(default: "24h")'],
    [['revoke', '--help'], 'Usage: pet-categories-keys revoke [options] <id>'],
    [['audit', '--help'], '--json']
  ]
  const wrong: [string[], string][] = [
    [[], 'Usage:'],
    [['lst'], "error: unknown command 'lst'\n(Did you mean list?)\n"],
    [['create'], "error: required option '--name <name>' not specified\n"],
    [['create', 'x', '--name', 'y'], 'too many arguments'],
    [['create', '--name', 'y', '--expires', '1y'], "argument '1y' is invalid. Write it as 30m, 24h or 90d.\n"],
    [['create', '--name', 'y', '--expires', '0d'], "argument '0d' is invalid."],
    [['list', '--name', 'x'], "error: unknown option '--name'\n"],
    [['revoke'], "error: missing required argument 'id'\n"]
  ]
  for (const [args, text] of helps) t.match(await call(args), { code: 0, output: text })
  for (const [args, text] of wrong) t.match(await call(args), { code: 1, output: text })
  const name = process.env['npm_lifecycle_event']
  t.teardown(() => (process.env['npm_lifecycle_event'] = name))
  process.env['npm_lifecycle_event'] = 'keys'
  t.match((await call(['--help'])).output, 'Usage: npm run keys -- [options] [command]')
})

/** A service, and the key commands on its database. */
async function start(t: Test) {
  const service = await startService(t)
  const database = openDatabase({ url: service.databaseUrl, poolSize: 1, timeout: 5000 }, silent)
  t.teardown(() => database.close())
  const store = keyStore(database, 'keys test')
  return {
    ...service,
    keys: async (...args: string[]) => (await call(args, store)).output,
    list: async () => JSON.parse((await call(['list', '--json'], store)).output) as Record<string, string | null>[],
    status: async (key: string) =>
      (await service.app.inject({ url: '/v1/categories', headers: { authorization: `Bearer ${key}` } })).statusCode
  }
}

t.test('keys are created, listed, rotated and revoked, and the audit log shows it', async (t) => {
  const { databaseUrl, keys, list, status } = await start(t)
  const old = await keys('create', '--name', 'a team', '--expires', '90d')
  t.match(old, new RegExp(`^${keyPattern.source}$`))
  const successor = await keys('rotate', '2', '--overlap', '1h')
  t.same([await status(old), await status(successor)], [200, 200])
  t.equal(await keys('revoke', '2'), 'Revoked key 2. It stops working within a second.')

  const listed = await list()
  t.match(listed, [
    { id: '1', name: 'test', state: 'valid', expires_at: null, revoked_at: null },
    { id: '2', name: 'a team', prefix: old.slice(0, 15), state: 'revoked', replaced_by: '3' },
    { id: '3', name: 'a team', prefix: successor.slice(0, 15), state: 'valid', replaced_by: null }
  ])
  const hours = listed.map(
    (row) => (Date.parse(String(row['expires_at'])) - Date.parse(String(row['created_at']))) / 3.6e6
  )
  t.same(
    hours.slice(1).map(Math.round),
    [1, 90 * 24],
    'the old key ends with the overlap, the new one has its lifetime'
  )

  const columns = 'ID +NAME +PREFIX +CREATED_AT +LAST_USED_AT +EXPIRES_AT +REVOKED_AT +REPLACED_BY +STATE'
  t.match(await keys('list'), new RegExp(`^${columns}\n1 +test +petcat_[0-9a-f]{8} .* - +- +- +valid\n2 +a team `))
  t.match(await keys('audit'), /^AT +KEY_ID +NAME +EVENT +COMMAND\n\S+Z +1 +test +created +test\n/)
  t.match(JSON.parse(await keys('audit', '--json')), [
    { key_id: '1', event: 'created', command: 'test' },
    { key_id: '2', event: 'created', command: 'keys test' },
    { key_id: '2', event: 'rotated', command: 'keys test' },
    { key_id: '3', event: 'created', command: 'keys test' },
    { key_id: '2', event: 'revoked', command: 'keys test' }
  ])

  const stored = await query(
    databaseUrl,
    "SELECT encode(hash, 'hex') AS hash, api_keys::text FROM api_keys WHERE id = 2"
  )
  t.match(stored, [{ hash: hashKey(old) }])
  t.notMatch(JSON.stringify([stored, await keys('list'), listed]), old.slice(0, 17), 'no key is stored or shown')
  await query(databaseUrl, 'TRUNCATE api_keys, key_events')
  t.equal(await keys('list'), '')
})

t.test('a key that was rotated without overlap or has expired is rejected and listed as expired', async (t) => {
  const { key, keys, list, status } = await start(t)
  const successor = await keys('rotate', '1', '--overlap', '0s', '--expires', '1h')
  t.same([await status(key), await status(successor)], [401, 200])
  t.match(await list(), [{ state: 'expired' }, { state: 'valid' }])
})

t.test('the use of a key is listed to the minute', async (t) => {
  const { databaseUrl, key, status } = await start(t)
  await status(key)
  const used =
    "SELECT date_part('second', last_used_at) AS s, now() - last_used_at < interval '3 min' AS recent FROM api_keys"
  await until(async () => (await query(databaseUrl, `${used} WHERE last_used_at IS NOT NULL`)).length > 0, 'it is used')
  t.same(await query(databaseUrl, used), [{ s: 0, recent: true }])
})

t.test(
  'the command prints only the key, or one line with the error, and leaves its arguments in the audit log',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const keys = (...args: string[]) =>
      run(t, [...script('src/api-keys/cli.ts'), ...args], { env: { DATABASE_URL: databaseUrl } })
    const created = keys('create', '--name', 'a team')
    const failed = keys('revoke', '99')
    t.equal(await created.exited, 0)
    t.match(created.output(), new RegExp(`^${keyPattern.source}\n$`))
    t.same(await query(databaseUrl, 'SELECT command FROM key_events'), [{ command: 'keys create --name a team' }])
    t.equal(await failed.exited, 1)
    t.equal(failed.output(), 'pet-categories: Key 99 is not valid; see: keys list\n')
  }
)
