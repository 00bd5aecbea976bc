import t from 'tap'
import { Unavailable } from '../../src/database/errors.ts'
import { hashKey, isWellFormedKey, makeKey } from '../../src/keys/key.ts'
import { keyVerifier } from '../../src/keys/verifier.ts'
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

/** Long enough for a look-up in the background. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
}

/** A key store whose one valid key can be revoked, or which can be out of reach; and a clock. */
function verifier() {
  const key = makeKey()
  const state = { isValid: true, isDown: false, now: 0, queries: 0 }
  const findValid = (hashes: string[]) => {
    state.queries++
    if (state.isDown) return Promise.reject(new Unavailable(new Error('down')))
    return Promise.resolve(hashes.map((hash) => (state.isValid && hash === hashKey(key) ? 7n : undefined)))
  }
  return { key, state, verify: keyVerifier({ findValid }, () => state.now) }
}

t.test('a valid key is looked up once and then remembered', async (t) => {
  const { key, state, verify } = verifier()
  t.same(await Promise.all([verify(key), verify(key)]), [7n, 7n])
  const { queries } = state
  t.equal(verify(key), 7n, 'at once')
  t.equal(state.queries, queries)
})

t.test('text without the form of a key costs no query, and an unknown key is not remembered', async (t) => {
  const { state, verify } = verifier()
  t.equal(verify('petcat_x'), undefined)
  t.equal(state.queries, 0)
  const unknown = makeKey()
  t.equal(await verify(unknown), undefined)
  t.equal(await verify(unknown), undefined)
  t.equal(state.queries, 2)
})

t.test('a revoked key ends within a second, in steady use and after a pause', async (t) => {
  const used = verifier()
  await used.verify(used.key)
  used.state.isValid = false
  used.state.now = 500
  t.equal(used.verify(used.key), 7n, 'still remembered, and looked up again meanwhile')
  await settled()
  t.equal(await used.verify(used.key), undefined)

  const paused = verifier()
  await paused.verify(paused.key)
  paused.state.isValid = false
  paused.state.now = 999
  t.equal(await paused.verify(paused.key), undefined)
})

t.test(
  'when the store cannot be asked, a remembered key works until its age is up, and then fails closed',
  async (t) => {
    const { key, state, verify } = verifier()
    await verify(key)
    state.isDown = true
    state.now = 500
    t.equal(verify(key), 7n)
    await settled()
    t.equal(verify(key), 7n, 'tried again')
    await settled()
    t.equal(state.queries, 3)
    state.now = 950
    await t.rejects(async () => verify(key), { message: 'the database is unavailable' })
    state.isDown = false
    t.equal(await verify(key), 7n)
  }
)

t.test('the key command says how it is called, and exits with 2 when it was not', async (t) => {
  const keys = async (...args: string[]) => {
    const { exited, output } = run(t, [...script('src/keys/cli.ts'), ...args])
    return { code: await exited, output: output() }
  }
  const help = await keys('--help')
  t.equal(help.code, 0)
  t.match(help.output, 'npm run keys -- create --name NAME')
  const wrong: [string[], string][] = [
    [[], 'A command is missing'],
    [['make'], 'There is no command make'],
    [['create'], 'A key needs a name'],
    [['create', '--name', ''], 'A key needs a name'],
    [['create', '--name', 'a\nb'], 'A key needs a name'],
    [['create', 'x', '--name', 'y'], 'A key needs a name'],
    [['list', 'x'], 'Too many words: x'],
    [['list', '--name', 'x'], '--name goes with create'],
    [['revoke'], 'A key to revoke is named by its id'],
    [['revoke', 'x'], 'A key to revoke is named by its id'],
    [['revoke', '1', '2'], 'Too many words: 2'],
    [['list', '--wrong'], "Unknown option '--wrong'"]
  ]
  for (const [args, message] of wrong) {
    const { code, output } = await keys(...args)
    t.equal(code, 2, args.join(' '))
    t.match(output, message)
  }
  const { databaseUrl } = await startService(t)
  const unknown = run(t, [...script('src/keys/cli.ts'), 'revoke', '99'], { env: { DATABASE_URL: databaseUrl } })
  t.equal(await unknown.exited, 1)
  t.match(unknown.output(), 'There is no valid key with the id 99')
})
