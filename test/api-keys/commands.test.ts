import t from 'tap'
import { keyCommands } from '../../src/api-keys/commands.ts'
import { hashKey } from '../../src/api-keys/key.ts'
import { type KeyStore, keyStore } from '../../src/api-keys/store.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { createDatabase, query, silent } from '../support/database.ts'
import { keyPattern, run, script } from '../support/process.ts'
import { startService } from '../support/service.ts'

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
  for (const [code, command, text] of [
    [0, '--help', 'Usage: pet-categories-keys [options] [command]'],
    [0, 'revoke --help', 'Usage: pet-categories-keys revoke [options] <id>'],
    [1, 'lst', "error: unknown command 'lst'\n(Did you mean list?)\n"],
    [1, 'create --name y --expires 1y', "argument '1y' is invalid. Write it as 30m, 24h or 90d.\n"],
    [1, 'create --name y --expires 0d', "argument '0d' is invalid."],
    [1, 'revoke', "error: missing required argument 'id'\n"]
  ] as const)
    t.match(await call(command.split(' ').filter(Boolean)), { code, output: text }, command)
  const name = process.env['npm_lifecycle_event']
  t.teardown(() => (process.env['npm_lifecycle_event'] = name))
  process.env['npm_lifecycle_event'] = 'keys'
  t.match((await call(['--help'])).output, 'Usage: npm run keys -- [options] [command]')
})

t.test('keys are created, listed, rotated and revoked, and the audit log shows it', async (t) => {
  const { app, databaseUrl } = await startService(t)
  const database = openDatabase({ url: databaseUrl, poolSize: 1, timeout: 5000 }, silent)
  t.teardown(() => database.close())
  const store = keyStore(database, 'keys test')
  const keys = async (...args: string[]) => (await call(args, store)).output
  const list = async () => JSON.parse(await keys('list', '--json')) as Record<string, string | null>[]
  const status = async (key: string) =>
    (await app.inject({ url: '/v1/categories', headers: { authorization: `Bearer ${key}` } })).statusCode

  const old = await keys('create', '--name', 'a team', '--expires', '90d')
  t.match(old, new RegExp(`^${keyPattern.source}$`))
  const successor = await keys('rotate', '2', '--overlap', '1h')
  t.same([await status(old), await status(successor)], [200, 200])
  const last = await keys('rotate', '3', '--overlap', '0s', '--expires', '7d')
  t.equal(await keys('revoke', '2'), 'Revoked key 2. It stops working within a second.')

  const listed = await list()
  t.match(listed, [
    { id: '1', name: 'test', state: 'valid', expires_at: null, revoked_at: null },
    { id: '2', name: 'a team', prefix: old.slice(0, 15), state: 'revoked', replaced_by: '3' },
    { id: '3', name: 'a team', prefix: successor.slice(0, 15), state: 'expired', replaced_by: '4' },
    { id: '4', name: 'a team', prefix: last.slice(0, 15), state: 'valid', replaced_by: null }
  ])
  const hours = listed.map(
    (row) => (Date.parse(String(row['expires_at'])) - Date.parse(String(row['created_at']))) / 3.6e6
  )
  t.same(hours.slice(1).map(Math.round), [1, 0, 7 * 24], 'an old key ends with the overlap')

  const columns = 'ID +NAME +PREFIX +CREATED_AT +LAST_USED_AT +EXPIRES_AT +REVOKED_AT +REPLACED_BY +STATE'
  t.match(await keys('list'), new RegExp(`^${columns}\n1 +test +petcat_[0-9a-f]{8} .* - +- +- +valid\n2 +a team `))
  t.match(await keys('audit'), /^AT +KEY_ID +NAME +EVENT +COMMAND\n\S+Z +1 +test +created +test\n/)
  const events = ['1 created', '2 created', '2 rotated', '3 created', '3 rotated', '4 created', '2 revoked']
  const audit = JSON.parse(await keys('audit', '--json')) as Record<string, string>[]
  t.same(
    audit.map((row) => `${row['key_id']} ${row['event']}`),
    events
  )
  const sql = "SELECT encode(hash, 'hex') AS hash, api_keys::text FROM api_keys WHERE id = 2"
  const stored = await query(databaseUrl, sql)
  t.match(stored, [{ hash: hashKey(old) }])
  t.notMatch(JSON.stringify([stored, await keys('list'), listed]), old.slice(0, 17), 'no key is stored or shown')
  await query(databaseUrl, 'TRUNCATE api_keys, key_events')
  t.equal(await keys('list'), '')
})

t.test('the command prints only the key, or one line with the error, and is in the audit log', async (t) => {
  const env = { DATABASE_URL: await createDatabase(t) }
  const keys = (...args: string[]) => run(t, [...script('src/api-keys/cli.ts'), ...args], { env })
  const created = keys('create', '--name', 'a team')
  const failed = keys('revoke', '99')
  t.equal(await created.exited, 0)
  t.match(created.output(), new RegExp(`^${keyPattern.source}\n$`))
  t.same(await query(env.DATABASE_URL, 'SELECT command FROM key_events'), [{ command: 'keys create --name a team' }])
  t.equal(await failed.exited, 1)
  t.equal(failed.output(), 'pet-categories: Key 99 is not valid; see: keys list\n')
})
