import { openSync } from 'node:fs'
import t, { type Test } from 'tap'
import { keyCommands } from '../../../src/framework/keys/key-commands.ts'
import { hashKey, shownPartOf } from '../../../src/framework/keys/key.ts'
import type { PrintedRow } from '../../../src/framework/keys/store.ts'
import { begin, lockAwaited, query } from '../../support/database.ts'
import { makeKey, startNotes } from '../../support/notes.ts'
import { keyPattern } from '../../support/process.ts'

/** Starts a service, with a function that runs key commands on its database. */
async function start(t: Test) {
  const { keys, databaseUrl } = await startNotes(t)

  /** Runs a key command in this process, and returns what it prints. */
  async function call(command: string): Promise<string> {
    let output = ''
    const run: Parameters<typeof keyCommands>[0] = async (action) => {
      const printed = await action(keys)
      if (typeof printed === 'string') output = printed
    }
    const program = keyCommands(run, ['pets:read', 'pets:write'])
    for (const one of program.commands)
      one.exitOverride().configureOutput({ writeErr() {} })
    await program.parseAsync(command.split(' '), { from: 'user' })

    return output
  }

  return { call, keys, databaseUrl }
}

/** The minutes from the creation of a listed key to its end. */
function lifetimeOf({ created_at: from, expires_at: to }: PrintedRow) {
  const milliseconds = Date.parse(String(to)) - Date.parse(String(from))
  return Math.round(milliseconds / 60_000)
}

t.test('a key is shown once, stored as a hash, and listed', async (t) => {
  const { call, databaseUrl } = await start(t)
  const apiKey = await call('create --name team')
  t.match(apiKey, new RegExp(`^${keyPattern.source}$`))

  const shown_part = shownPartOf(apiKey)
  const listed = await call('list --json')
  t.match(JSON.parse(listed), [
    { id: '1', name: 'test', state: 'valid', expires_at: null, scopes: 'all' },
    { id: '2', name: 'team', shown_part }
  ])

  const stored = await query(
    databaseUrl,
    `SELECT encode(hash, 'hex') AS hash, api_keys::text
     FROM api_keys
     WHERE id = 2`
  )
  t.match(stored, [{ hash: hashKey(apiKey) }])
  t.notMatch(JSON.stringify([stored, listed]), apiKey.slice(0, 17))
})

t.test('a rotated key works for the overlap, its successor on', async (t) => {
  const { call, keys } = await start(t)
  const first = await call(
    'create --name team --expires 90d --scope pets:write --scope pets:read'
  )
  await call(`rotate ${shownPartOf(first)} --overlap 1h`)
  await call('rotate 3 --overlap 0s --expires 7d')
  await call('rotate 4')
  await call('create --name short --expires 60s')
  await call('rotate 6')

  const listed = (await keys.list()).slice(1)
  t.match(listed[3], { name: 'team', scopes: 'pets:write pets:read' })
  t.same(
    listed.map((row) => [row['state'], row['replaced_by'], lifetimeOf(row)]),
    [
      ['valid', '3', 60],
      ['expired', '4', 0],
      ['valid', '5', 1440],
      ['valid', null, 7 * 1440],
      ['valid', '7', 1],
      ['valid', null, 1]
    ]
  )
})

t.test('replicas store one first key, if there is no other', async (t) => {
  const { databaseUrl, keys } = await start(t)
  await keys.createFirst(makeKey())
  t.match(await keys.list(), [{ name: 'test' }])

  await query(databaseUrl, 'TRUNCATE api_keys, key_events')
  const apiKey = makeKey()
  const other = await begin(
    t,
    databaseUrl,
    `INSERT INTO api_keys (name, shown_part, hash)
     VALUES ('first', 'x', '\\x${hashKey(apiKey)}')`
  )
  const creating = keys.createFirst(apiKey)
  await lockAwaited(databaseUrl)
  await other.commit()
  await t.resolves(creating)
})

/** What another session may hold. */
const locks = ['SELECT FROM api_keys FOR UPDATE', 'LOCK TABLE api_keys']

for (const statement of locks)
  t.test(`a change does not wait long for ${statement}`, async (t) => {
    const config = { DATABASE_TIMEOUT_MS: 1000 }
    const { keys, databaseUrl } = await startNotes(t, { config })
    await begin(t, databaseUrl, statement)
    await t.rejects(keys.rotate('1', '1h'), { message: 'The key is locked, ' })
  })

const seeList = 'see: keys list'

/** Commands that change nothing, while key 1 is replaced and 2 is revoked. */
const mistakes = {
  'create --name x --expires 90': 'Write it as 30m, 24h or 90d.',
  'rotate 1 --expires 0s': 'Write it as 30m, 24h or 90d.',
  'create --name x --scope pets:fly': 'pets:read, pets:write',
  'rotate 1': seeList,
  'rotate 2': seeList,
  'revoke 2': seeList
}

/** Names that could forge lines of the list, or hide. */
const badNames = ['', 'x'.repeat(101), 'x\ny', '\u2028', '\u202ex']

t.test('a mistake changes nothing', async (t) => {
  const { call, keys } = await start(t)
  const shownPart = shownPartOf(await call('rotate 1'))
  t.equal(
    await call(`revoke ${shownPart}`),
    `Revoked key ${shownPart}. It stops working within a second.`
  )
  const before = await keys.list()

  for (const [command, message] of Object.entries(mistakes))
    await t.rejects(call(command), { message }, command)
  for (const name of badNames)
    await t.rejects(keys.create(name), {
      message: 'The name of a key must have 1 to 100 characters, without'
    })
  await t.rejects(keys.create('x', { scopes: [] }), { code: '23514' })
  t.same(await keys.list(), before)

  await keys.create('Zoë’s 🐕'.padEnd(100, '.'))
})

t.test('of concurrent rotations of one key, one succeeds', async (t) => {
  const { databaseUrl, keys } = await start(t)
  const update = 'UPDATE api_keys SET last_used_at = now()'
  const { commit } = await begin(t, databaseUrl, update)
  const rotations = Promise.allSettled(
    [1, 2].map(() => keys.rotate('1', '24h'))
  )
  // Both have seen the key as it was.
  await lockAwaited(databaseUrl, 2)
  await commit()

  const outcomes = (await rotations).map(({ status }) => status)
  t.same(outcomes.sort(), ['fulfilled', 'rejected'])
  t.equal((await keys.list()).length, 2)
})

t.test('no key is created if the shell has closed stdout', async (t) => {
  const { call, keys } = await start(t)
  // What Node.js opens instead.
  t.intercept(process.stdout, 'fd', { value: openSync('/dev/null', 'r+') })
  for (const command of ['create --name x', 'rotate 1'])
    await t.rejects(call(command), { message: 'stdout is closed: ' })
  t.equal((await keys.list()).length, 1)

  // What `>/dev/null` opens.
  t.intercept(process.stdout, 'fd', { value: openSync('/dev/null', 'w') })
  await t.resolves(call('create --name x'))
})

t.test('a misspelt command is reported in one line', async (t) => {
  const written: string[] = []
  const program = keyCommands(() => Promise.resolve(), []).exitOverride()
  program.configureOutput({
    writeErr(text) {
      written.push(text)
    }
  })
  await t.rejects(program.parseAsync(['creat'], { from: 'user' }))
  t.same(written, ["error: unknown command 'creat' (Did you mean create?)\n"])
})
