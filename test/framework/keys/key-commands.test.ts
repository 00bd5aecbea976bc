import { openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { keyCommands } from '../../../src/framework/keys/key-commands.ts'
import { hashKey, shownPartOf } from '../../../src/framework/keys/key.ts'
import {
  ApiKeyStore,
  type PrintedRow
} from '../../../src/framework/keys/store.ts'
import { begin, lockAwaited, query } from '../../support/database.ts'
import {
  apiKeyPrefix,
  listNotes,
  makeKey,
  startNotes
} from '../../support/notes.ts'
import { keyPattern } from '../../support/process.ts'
import { recorder } from '../../support/recorder.ts'

type Run = Parameters<typeof keyCommands>[0]

/** Starts a service, with functions that run key commands on its database. */
async function start(t: Test) {
  const service = await startNotes(t)

  /** Runs a key command in this process, and returns what it prints. */
  async function call(command: string, ...more: string[]) {
    let output: Awaited<ReturnType<Parameters<Run>[0]>> = ''
    const run: Run = async (action) => {
      output = await action(service.keys)
    }
    const program = keyCommands(run, ['pets:read', 'pets:write'])
    for (const one of program.commands)
      one.exitOverride().configureOutput({ writeErr() {} })
    await program.parseAsync([...command.split(' '), ...more], { from: 'user' })

    return output
  }

  const text = async (command: string) => String(await call(command))
  const rows = async () => JSON.parse(await text('list --json')) as PrintedRow[]

  const status = async (apiKey: string) => {
    const authorization = `Bearer ${apiKey}`
    return (await listNotes(service, { authorization })).statusCode
  }

  return { ...service, call, text, rows, status }
}

/** The minutes from the creation of a listed key to its end. */
function lifetimeOf({ created_at: from, expires_at: to }: PrintedRow) {
  const milliseconds = Date.parse(String(to)) - Date.parse(String(from))
  return Math.round(milliseconds / 60_000)
}

t.test('a key is shown once, stored as a hash, and listed', async (t) => {
  const { call, text, rows, status, databaseUrl } = await start(t)
  const apiKey = await text('create --name team')
  t.match(apiKey, new RegExp(`^${keyPattern.source}$`))
  t.equal(await status(apiKey), 200)

  const shown_part = shownPartOf(apiKey)
  const expected = [
    { id: '1', name: 'test', state: 'valid', expires_at: null, scopes: 'all' },
    { id: '2', name: 'team', shown_part }
  ]
  const listed = await call('list')
  t.match(listed, expected)
  t.match(await rows(), expected)

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
  const { call, text, rows, status } = await start(t)
  const old = await text(
    'create --name team --expires 90d --scope pets:write --scope pets:read'
  )
  const successor = await text('rotate 2 --overlap 1h')
  for (const key of [old, successor]) t.not(await status(key), 401)
  await call('rotate 3 --overlap 0s --expires 7d')
  await call('rotate 4')
  await call('create --name short --expires 60s')
  await call('rotate 6')

  const listed = (await rows()).slice(1)
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

t.test('keys are named by their shown part', async (t) => {
  const { call, text, rows } = await start(t)
  const shownPart = shownPartOf(await text('create --name team'))
  await call(`rotate ${shownPart}`)
  t.equal(
    await call(`revoke ${shownPart}`),
    `Revoked key ${shownPart}. It stops working within a second.`
  )
  t.match(await rows(), [
    { state: 'valid' },
    { state: 'revoked', replaced_by: '3' },
    { state: 'valid' }
  ])
})

t.test('replicas store one first key, if there is no other', async (t) => {
  const { databaseUrl, keys, rows } = await start(t)
  await keys.createFirst(makeKey())
  t.match(await rows(), [{ name: 'test' }])

  await query(databaseUrl, 'TRUNCATE api_keys, key_events')
  const apiKey = makeKey()
  const other = await begin(
    t,
    databaseUrl,
    `INSERT INTO api_keys (name, shown_part, hash)
     VALUES ('first', '${shownPartOf(apiKey)}', '\\x${hashKey(apiKey)}')`
  )
  const creating = Promise.all([1, 2].map(() => keys.createFirst(apiKey)))
  await lockAwaited(databaseUrl, 2)
  await other.commit()
  await creating
  t.equal((await rows()).length, 1)
})

t.test('the log has each change of a key', async (t) => {
  const { database } = await startNotes(t)
  const { lines, log } = recorder()
  const store = new ApiKeyStore(database, apiKeyPrefix, log)
  await store.create('team')
  await store.rotate('2', '1h')
  await store.revoke('2')
  await t.rejects(store.revoke('2'))

  t.same(
    lines.map(({ key, successor, msg }) => [msg, key, successor]),
    [
      ['API key created', '2', undefined],
      ['API key rotated', '2', '3'],
      ['API key revoked', '2', undefined]
    ]
  )
})

/** By what another session has locked: what a change of a key says. */
const locks = {
  'SELECT FROM api_keys FOR UPDATE': 'The key is locked, ',
  'LOCK TABLE api_keys': 'The key is locked, '
}

for (const [statement, message] of Object.entries(locks))
  t.test(`${statement}: ${message}`, async (t) => {
    const config = { DATABASE_TIMEOUT_MS: 1000 }
    const { keys, databaseUrl } = await startNotes(t, { config })
    const lock = await begin(t, databaseUrl, statement)
    await t.rejects(keys.rotate('1', '1h'), { message })

    await lock.release()
    await t.resolves(keys.revoke('1'))
  })

const seeList = 'see: keys list'

/** Commands that change nothing, while key 1 is replaced and 2 is revoked. */
const mistakes = {
  'create --name x --expires 90': 'Write it as 30m, 24h or 90d.',
  'rotate 1 --expires 0s': 'Write it as 30m, 24h or 90d.',
  'create --name x --scope pets:fly': 'pets:read, pets:write',
  'rotate 1': seeList,
  'rotate 2': seeList,
  'revoke 2': seeList,
  'revoke x': seeList
}

/** Names that could forge lines of the list, or hide. */
const badNames = ['', 'x'.repeat(101), 'x\ny', '\u2028', '\u202ex']

t.test('a mistake changes nothing', async (t) => {
  const { call, rows, keys } = await start(t)
  await call('rotate 1')
  await call('revoke 2')
  const before = await rows()

  for (const [command, message] of Object.entries(mistakes))
    await t.rejects(call(command), { message }, command)
  for (const name of badNames)
    await t.rejects(call('create --name', name), {
      message: 'The name of a key must have 1 to 100 characters, without'
    })
  await t.rejects(keys.create('none', { scopes: [] }))
  t.same(await rows(), before)

  for (const name of ['x'.repeat(100), 'Zoë’s 🐕 team'])
    await call('create --name', name)
})

t.test('of concurrent rotations of one key, one succeeds', async (t) => {
  const { databaseUrl, keys, rows } = await start(t)
  const update = 'UPDATE api_keys SET last_used_at = now()'
  const { commit } = await begin(t, databaseUrl, update)
  const rotations = Promise.allSettled(
    [1, 2, 3].map(() => keys.rotate('1', '24h'))
  )
  // All have seen the key as it was.
  await lockAwaited(databaseUrl, 3)
  await commit()

  t.same((await rotations).map(({ status }) => status).sort(), [
    'fulfilled',
    'rejected',
    'rejected'
  ])
  t.match(await rows(), [{ replaced_by: '2' }, { replaced_by: null }])
  t.equal((await rows()).length, 2)
})

t.test('no key is created if the shell has closed stdout', async (t) => {
  const { call, rows } = await start(t)
  // What Node.js opens instead, and what `>/dev/null` opens.
  const closed = openSync('/dev/null', 'r+')
  const unwanted = openSync('/dev/null', 'w')
  const message = 'stdout is closed: the new key would be lost'

  t.intercept(process.stdout, 'fd', { value: closed })
  await t.rejects(call('create --name x'), { message })
  await t.rejects(call('rotate 1'), { message })
  t.equal((await rows()).length, 1)

  t.intercept(process.stdout, 'fd', { value: unwanted })
  await call('create --name x')
  t.equal((await rows()).length, 2)
})

t.test('the help of a command is written', async (t) => {
  const { call } = await start(t)
  const file = path.join(t.testdir(), 'help')
  t.intercept(process.stdout, 'fd', { value: openSync(file, 'w') })

  await t.rejects(call('help create'), { code: 'commander.help' })
  t.match(readFileSync(file, 'utf8'), /^Usage: keys create/)
})
