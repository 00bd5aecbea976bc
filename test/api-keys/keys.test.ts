import type { CommanderError } from 'commander'
import t, { type Test } from 'tap'
import { Unavailable } from '../../src/postgres/errors.ts'
import { keyCommands } from '../../src/api-keys/commands.ts'
import { hashKey, isWellFormedKey, makeKey } from '../../src/api-keys/key.ts'
import type { KeyState } from '../../src/api-keys/store.ts'
import { keyVerifier } from '../../src/api-keys/cache.ts'
import { run, script } from '../support/process.ts'
import { query } from '../support/database.ts'
import { startService } from '../support/service.ts'

t.test('a key has a prefix, 160 random bits and a checksum that shows a changed one', (t) => {
  const key = makeKey()
  t.match(key, /^petcat_[0-9a-f]{48}$/)
  t.not(makeKey(), key)
  t.ok(isWellFormedKey(key))
  const changed = key.at(-9) === '0' ? '1' : '0'
  t.notOk(isWellFormedKey(key.slice(0, -9) + changed + key.slice(-8)))
  t.notOk(isWellFormedKey(`${key}0`))
  t.notOk(isWellFormedKey(''))
  t.end()
})

t.test('the database has the hash of a key and never the key', async (t) => {
  const { databaseUrl, key } = await startService(t)
  const [row] = await query(databaseUrl, 'SELECT * FROM api_keys')
  t.equal((row?.['hash'] as Buffer).toString('hex'), hashKey(key))
  t.notMatch(JSON.stringify(row), key.slice(7))
})

/** A key store whose one valid key can be revoked, or which can be out of reach; and a clock. */
function verifier() {
  const key = makeKey()
  const state = { key: 'valid' as KeyState, isDown: false, now: 0, queries: 0, notes: 0 }
  const ask = <Answer>(answer: Answer) =>
    state.isDown ? Promise.reject<Answer>(new Unavailable(new Error('down'))) : Promise.resolve(answer)
  const keys = keyVerifier(
    {
      find(hashes) {
        state.queries++
        return ask(hashes.map((hash) => (hash === hashKey(key) ? { id: 7n, state: state.key } : undefined)))
      },
      noteUse() {
        state.notes++
        return ask(undefined)
      }
    },
    () => state.now
  )
  const isTrusted = () => keys.recall(key).valid !== undefined
  return { key, state, keys, isTrusted }
}

t.test('a valid key is looked up once, and then remembered as long as it is in use', async (t) => {
  const { key, state, keys, isTrusted } = verifier()
  t.notOk(isTrusted())
  t.same(await Promise.all([keys.check(key), keys.check(key)]), [
    { id: 7n, state: 'valid' },
    { id: 7n, state: 'valid' }
  ])
  t.equal(state.queries, 1)
  for (state.now = 400; state.now < 5000; state.now += 400) {
    t.ok(isTrusted())
    await keys.refresh()
  }
  t.equal(state.queries, 13)
})

t.test('keys that nobody uses are not looked up again', async (t) => {
  const { key, state, keys, isTrusted } = verifier()
  await keys.check(key)
  await keys.refresh()
  const { queries } = state
  state.now = 800
  await keys.refresh()
  t.equal(state.queries, queries)
  state.now = 1000
  t.notOk(isTrusted())
  t.ok(keys.recall(key).isFamiliar)
})

t.test('text without the form of a key costs no query, and an unknown key is not remembered', async (t) => {
  const { state, keys } = verifier()
  t.same(await keys.check('petcat_x'), { state: 'malformed' })
  t.equal(state.queries, 0)
  const unknown = makeKey()
  for (const queries of [1, 2]) {
    t.same(await keys.check(unknown), { state: 'unknown' })
    t.equal(state.queries, queries)
    t.same(keys.recall(unknown), { valid: undefined, isFamiliar: false })
  }
})

t.test(
  'a key that has ended is forgotten within a second, in use, after a pause, and at once when that is told',
  async (t) => {
    for (const ended of ['revoked', 'expired'] as const) {
      const used = verifier()
      await used.keys.check(used.key)
      used.state.key = ended
      used.state.now = 400
      t.ok(used.isTrusted())
      await used.keys.refresh()
      t.notOk(used.isTrusted())
      t.same(await used.keys.check(used.key), { id: 7n, state: ended })

      const paused = verifier()
      await paused.keys.check(paused.key)
      paused.state.now = 900
      t.notOk(paused.isTrusted())

      const told = verifier()
      await told.keys.check(told.key)
      told.keys.distrust()
      t.notOk(told.isTrusted())
      told.state.now = 1
      await told.keys.check(told.key)
      t.ok(told.isTrusted())
    }
  }
)

t.test(
  'when the store cannot be asked, a remembered key works until its age is up, and then fails closed',
  async (t) => {
    const { key, state, keys, isTrusted } = verifier()
    await keys.check(key)
    state.isDown = true
    state.now = 500
    await t.rejects(keys.refresh(), { message: 'the database is unavailable' })
    t.ok(isTrusted())
    state.now = 950
    t.notOk(isTrusted())
    await t.rejects(keys.check(key), { message: 'the database is unavailable' })
    state.isDown = false
    t.match(await keys.check(key), { state: 'valid' })
  }
)

t.test('the use of a key is written down once a minute', async (t) => {
  const { key, state, keys, isTrusted } = verifier()
  await keys.check(key)
  for (state.now = 0; state.now < 150_000; state.now += 400) {
    isTrusted()
    await keys.refresh()
  }
  t.equal(state.notes, 3)
})

/** The key command, on the database. */
function keyCommand(t: Test, databaseUrl: string) {
  return async (...args: string[]) => {
    const { exited, output } = run(t, [...script('src/api-keys/cli.ts'), ...args], {
      env: { DATABASE_URL: databaseUrl }
    })
    return { code: await exited, output: output().trim() }
  }
}

t.test('every key command shows its usage, and only the error when it is called wrongly', async (t) => {
  /** Calls it in this process, without a database. */
  const call = async (args: string[]) => {
    let output = ''
    const write = (text: string) => (output += text)
    const commands = keyCommands({ name: 'keys', command: '', withKeys: () => Promise.resolve() })
    for (const one of [commands, ...commands.commands]) one.configureOutput({ writeOut: write, writeErr: write })
    const error = await commands.parseAsync(args, { from: 'user' }).catch((error: unknown) => error)
    return { isHelp: (error as CommanderError).exitCode === 0, output }
  }
  const helps: [string[], string][] = [
    [['--help'], 'Usage: keys [options] [command]'],
    [['create', '--help'], '--expires <duration>'],
    [['list', '--help'], '--json'],
    [['rotate', '--help'], '(default: 24h)'],
    [['revoke', '--help'], 'Usage: keys revoke [options] <id>'],
    [['audit', '--help'], '--json']
  ]
  const wrong: [string[], string][] = [
    [[], 'Usage:'],
    [['make'], "unknown command 'make'"],
    [['create'], "required option '--name <name>' not specified"],
    [['create', '--name', ''], 'A name is one line of text.'],
    [['create', '--name', 'a\nb'], 'A name is one line of text.'],
    [['create', 'x', '--name', 'y'], 'too many arguments'],
    [['create', '--name', 'y', '--expires', '1y'], 'A duration is a number and s, m, h or d'],
    [['create', '--name', 'y', '--expires', '0d'], 'A key must live longer than that.'],
    [['list', 'x'], 'too many arguments'],
    [['list', '--name', 'x'], "unknown option '--name'"],
    [['revoke'], "missing required argument 'id'"],
    [['revoke', 'x'], 'A key is named by its id; list shows the ids.'],
    [['revoke', '1', '2'], 'too many arguments']
  ]
  for (const [args, text] of helps) {
    const { isHelp, output } = await call(args)
    t.ok(isHelp, args.join(' '))
    t.match(output, text)
  }
  for (const [args, text] of wrong) {
    const { isHelp, output } = await call(args)
    t.notOk(isHelp, args.join(' '))
    t.match(output, text)
  }
  const keys = keyCommand(t, 'postgres://nowhere')
  t.match(await keys('--help'), { code: 0, output: 'Usage: pet-categories-keys [options] [command]' })
  const { exited, output } = run(t, [...script('src/api-keys/cli.ts'), '--help'], {
    env: { npm_lifecycle_event: 'keys' }
  })
  t.equal(await exited, 0)
  t.match(output(), 'Usage: npm run keys -- [options] [command]')
  t.same(await keys('make'), {
    code: 2,
    output: "pet-categories: unknown command 'make'\nSee: pet-categories-keys --help"
  })
})

t.test('a key is made, listed, rotated and revoked, and each leaves its trace', async (t) => {
  const { app, databaseUrl } = await startService(t)
  const keys = keyCommand(t, databaseUrl)
  const status = async (key: string) =>
    (await app.inject({ url: '/v1/categories', headers: { authorization: `Bearer ${key}` } })).statusCode
  interface Listed {
    id: string
    prefix: string
    state: string
    created_at: string
    expires_at: string | null
    last_used_at: string | null
  }
  const list = async () => JSON.parse((await keys('list', '--json')).output) as Listed[]

  const made = await keys('create', '--name', 'a team', '--expires', '90d')
  t.equal(made.code, 0)
  t.match(made.output, /^petcat_[0-9a-f]{48}$/)
  t.equal(await status(made.output), 200)

  const rotated = await keys('rotate', '2', '--overlap', '1h')
  t.match(rotated.output, /^petcat_[0-9a-f]{48}$/)
  t.equal(await status(made.output), 200)
  t.equal(await status(rotated.output), 200)

  t.equal((await keys('revoke', '2')).output, 'Revoked key 2: it stops working within a second.')
  t.equal(await status(rotated.output), 200)

  const [, old, successor] = await list()
  t.match(old, { id: '2', name: 'a team', prefix: made.output.slice(0, 15), state: 'revoked' })
  t.match(successor, { id: '3', name: 'a team', prefix: rotated.output.slice(0, 15), state: 'valid' })
  const life = ({ created_at, expires_at }: Listed) => Date.parse(String(expires_at)) - Date.parse(created_at)
  t.equal(Math.round(life(old as Listed) / 60_000), 60, 'ends with the overlap')
  t.equal(
    Math.round(life(successor as Listed) / 60_000),
    90 * 24 * 60,
    'has the lifetime that the old one was created with'
  )

  const table = await keys('list')
  t.match(
    table.output,
    /^ID +NAME +PREFIX +CREATED +LAST USED +EXPIRES +REPLACED BY +STATE\n1 +test +petcat_[0-9a-f]{8} /
  )
  t.notMatch(table.output, made.output.slice(0, 17))
  t.equal((await keys('audit')).output.split('\n').length, 6)
  t.match(JSON.parse((await keys('audit', '--json')).output), [
    { key_id: '1', event: 'created', command: 'test' },
    { key_id: '2', event: 'created', command: 'keys create --name a team --expires 90d' },
    { key_id: '2', event: 'rotated', command: 'keys rotate 2 --overlap 1h' },
    { key_id: '3', event: 'created', command: 'keys rotate 2 --overlap 1h' },
    { key_id: '2', event: 'revoked', command: 'keys revoke 2' }
  ])

  const wrong: [string[], string][] = [
    [['revoke', '2'], 'pet-categories: There is no valid key with the id 2; see: keys list'],
    [['rotate', '2'], 'pet-categories: Key 2 is already replaced by key 3: rotate that one; see: keys list']
  ]
  for (const [args, output] of wrong) t.same(await keys(...args), { code: 1, output })
})

t.test('a key that was rotated out or has expired is refused, and listed as what it is', async (t) => {
  const { app, databaseUrl, key } = await startService(t)
  const keys = keyCommand(t, databaseUrl)
  const rotated = await keys('rotate', '1', '--overlap', '0s', '--expires', '1h')
  const status = async (headers: object) =>
    (await app.inject({ url: '/v1/categories', headers: { ...headers } })).statusCode
  t.equal(await status({ authorization: `Bearer ${key}` }), 401)
  t.equal(await status({ authorization: `Bearer ${rotated.output}` }), 200)
  t.match(JSON.parse((await keys('list', '--json')).output), [{ state: 'expired' }, { state: 'valid' }])
})

t.test('the use of a key is listed', async (t) => {
  const { app, databaseUrl, auth } = await startService(t)
  await app.inject({ url: '/v1/categories', headers: auth })
  for (;;) {
    const [row] = await query(databaseUrl, 'SELECT last_used_at, now() FROM api_keys WHERE last_used_at IS NOT NULL')
    if (row === undefined) continue
    const [used, now] = [row['last_used_at'] as Date, row['now'] as Date]
    t.equal(used.getTime() % 60_000, 0)
    t.ok(now.getTime() - used.getTime() < 180_000)
    break
  }
})
