import t, { type Test } from 'tap'
import { keyCommands } from '../../../src/framework/keys/key-commands.ts'
import { hashKey, shownPartOf } from '../../../src/framework/keys/key.ts'
import type { PrintedRow } from '../../../src/framework/keys/store.ts'
import { connect, lockAwaited, query } from '../../support/database.ts'
import { apiKeyPrefix, startNotes } from '../../support/notes.ts'
import { keyPattern } from '../../support/process.ts'

/** Starts a service, with functions that run key commands on its database. */
async function startWithCommands(t: Test) {
  const service = await startNotes(t)

  /** Runs a key command in this process, and returns what it prints. */
  async function call(command: string): Promise<string> {
    let output = ''
    const run: Parameters<typeof keyCommands>[0] = async (action) => {
      output = await action(service.keys)
    }
    const program = keyCommands(run, ['pets:read', 'pets:write'], 'pets')
    for (const one of program.commands) {
      one.exitOverride().configureOutput({ writeErr() {} })
    }
    await program.parseAsync(command.split(' '), { from: 'user' })

    return output
  }

  const rows = async (command: string) =>
    JSON.parse(await call(`${command} --json`)) as PrintedRow[]

  async function status(apiKey: string): Promise<number> {
    const headers = { authorization: `Bearer ${apiKey}` }
    const response = await service.app.inject({
      url: '/v1/notes',
      headers
    })

    return response.statusCode
  }

  return { ...service, call, rows, status }
}

/** The minutes from the creation of a listed key to its end. */
function lifetimeOf({
  created_at: start,
  expires_at: end
}: PrintedRow): number {
  const milliseconds = Date.parse(String(end)) - Date.parse(String(start))
  return Math.round(milliseconds / 60_000)
}

const [hour, day] = [60, 1440]

t.test('a key is created, and listed by its first characters', async (t) => {
  const { call, rows, status } = await startWithCommands(t)
  const apiKey = await call('create --name team --expires 90d')
  t.match(apiKey, new RegExp(`^${keyPattern.source}$`))
  t.equal(await status(apiKey), 200)

  const [first, created] = await rows('list')
  t.match(first, {
    id: '1',
    name: 'test',
    state: 'valid',
    expires_at: null,
    revoked_at: null,
    replaced_by: null
  })
  t.match(created, { id: '2', name: 'team', prefix: shownPartOf(apiKey) })
  t.equal(lifetimeOf(created ?? {}), 90 * day)
})

t.test(
  'a key has the scopes of its command, and keeps them in a rotation',
  async (t) => {
    const { call, rows } = await startWithCommands(t)
    const [read, write] = ['--scope pets:read', '--scope pets:write']
    await call(`create --name reader ${read}`)
    await call(`create --name both ${write} ${read} ${read}`)
    await call('rotate 2')
    await call('rotate 1')

    const listed = await rows('list')
    t.same(
      listed.map(({ name, scopes }) => `${name}: ${scopes}`),
      [
        'test: all',
        'reader: pets:read',
        'both: pets:write pets:read',
        'reader: pets:read',
        'test: all'
      ]
    )
    t.match(await call('list'), /^ID +NAME +PREFIX +SCOPES +CREATED_AT .+/)
  }
)

t.test('a duration without a unit is rejected', async (t) => {
  const { call, rows } = await startWithCommands(t)
  await t.rejects(call('create --name team --expires 90'), {
    message: /argument '90' is invalid. Write it as 30m, 24h or 90d.$/
  })
  t.equal((await rows('list')).length, 1)
})

t.test('an unknown scope is rejected with the known ones', async (t) => {
  const { call, rows } = await startWithCommands(t)
  await t.rejects(call('create --name team --scope pets:fly'), {
    message:
      "error: option '--scope <scope>' argument 'pets:fly' is invalid. Known scopes: pets:read, pets:write"
  })
  t.equal((await rows('list')).length, 1)
})

t.test(
  'a rotated key works for the overlap, and its successor as long as it did',
  async (t) => {
    const { call, rows, status } = await startWithCommands(t)
    const old = await call('create --name team --expires 90d')
    const successor = await call('rotate 2 --overlap 1h')
    t.equal(await status(old), 200)
    t.equal(await status(successor), 200)
    await call('rotate 3 --overlap 0s --expires 7d')
    await call('rotate 4')

    const [, first = {}, second = {}, third = {}, fourth = {}] =
      await rows('list')
    t.match(first, { state: 'valid', replaced_by: '3' })
    t.equal(lifetimeOf(first), hour)
    t.match(second, { name: 'team', state: 'expired', replaced_by: '4' })
    t.equal(lifetimeOf(second), 0)
    t.match(third, { name: 'team', state: 'valid', replaced_by: '5' })
    t.equal(lifetimeOf(third), day, 'the default overlap')
    t.match(fourth, { name: 'team', state: 'valid', replaced_by: null })
    t.equal(lifetimeOf(fourth), 7 * day)
  }
)

t.test('an overlap does not extend the life of a key', async (t) => {
  const { call, rows } = await startWithCommands(t)
  await call('create --name short --expires 60s')
  await call('rotate 2')
  const [, old = {}, successor = {}] = await rows('list')
  t.equal(lifetimeOf(old), 1)
  t.equal(lifetimeOf(successor), 1)
})

t.test('the audit log has every change and its command', async (t) => {
  const { call, rows } = await startWithCommands(t)
  await call('rotate 1')
  t.equal(
    await call('revoke 2'),
    'Revoked key 2. It stops working within a second.'
  )
  t.match(await rows('list'), [
    { id: '1', state: 'valid' },
    { id: '2', state: 'revoked' }
  ])

  const events = await rows('audit')
  t.same(
    events.map(({ key_id: id, event }) => `${id} ${event}`),
    ['1 created', '1 rotated', '2 created', '2 revoked']
  )
  t.match(
    await call('audit'),
    /^AT +KEY_ID +NAME +EVENT +COMMAND\n\S+Z +1 +test +created +test\n/
  )
})

t.test('a key is revoked and rotated by its listed prefix', async (t) => {
  const { call, rows } = await startWithCommands(t)
  const prefix = shownPartOf(await call('create --name team'))
  await call(`rotate ${prefix}`)
  t.equal(
    await call(`revoke ${prefix}`),
    'Revoked key 2. It stops working within a second.'
  )
  t.match(await rows('list'), [
    { id: '1', state: 'valid' },
    { id: '2', state: 'revoked', replaced_by: '3' },
    { id: '3', state: 'valid' }
  ])
})

t.test('a prefix that names no key, or several, revokes none', async (t) => {
  const { call, rows, databaseUrl } = await startWithCommands(t)
  const prefix = shownPartOf(await call('create --name team'))
  const unknown = `${apiKeyPrefix}00000000`
  await t.rejects(call(`revoke ${unknown}`), {
    message: `No key has the prefix ${unknown}; see: keys list`
  })

  await query(databaseUrl, 'UPDATE api_keys SET prefix = $1', [prefix])
  await t.rejects(call(`revoke ${prefix}`), {
    message: `Keys 1, 2 have the prefix ${prefix}: use an id`
  })
  t.match(await rows('list'), [{ state: 'valid' }, { state: 'valid' }])
})

t.test('no key is stored or listed, only its hash', async (t) => {
  const { call, rows, databaseUrl } = await startWithCommands(t)
  const apiKey = await call('create --name team')
  const sql = `
    SELECT encode(hash, 'hex') AS hash, api_keys::text
    FROM api_keys
    WHERE id = 2
  `
  const stored = await query(databaseUrl, sql)
  t.match(stored, [{ hash: hashKey(apiKey) }])

  const shown = [stored, await call('list'), await rows('list')]
  t.notMatch(JSON.stringify(shown), apiKey.slice(0, 17))
})

t.test(
  'a list has one line for each key, whatever names an earlier version accepted',
  async (t) => {
    const { call, databaseUrl } = await startWithCommands(t)
    const name = 'x\n2   forged\u001b[2K'
    await query(databaseUrl, 'UPDATE api_keys SET name = $1', [name])
    const [, ...lines] = (await call('list')).split('\n')
    t.equal(lines.length, 1)
    t.match(lines[0], 'x\ufffd2   forged\ufffd[2K')

    await query(databaseUrl, 'TRUNCATE api_keys, key_events')
    t.equal(await call('list'), '')
  }
)

const badNames = [
  { why: 'empty', name: '' },
  { why: 'only a space', name: ' ' },
  { why: 'too long', name: 'x'.repeat(101) },
  { why: 'a newline', name: 'x\n2   forged' },
  { why: 'an escape sequence', name: '\u001b[2Kx' },
  { why: 'an 8-bit escape sequence', name: '\u009b2Kx' },
  { why: 'a line separator', name: 'x\u2028y' },
  { why: 'text from right to left', name: '\u202ex' },
  { why: 'an unpaired surrogate', name: '\ud800' }
]

t.test('the name of a key is one short line of visible text', async (t) => {
  const { keys } = await startNotes(t)
  for (const { why, name } of badNames) {
    await t.rejects(
      keys.create(name),
      {
        message:
          'The name of a key must have 1 to 100 characters, without control characters'
      },
      why
    )
  }

  await keys.create('x'.repeat(100))
  await keys.create('Zoë’s 🐕 team')
  t.equal((await keys.list()).length, 3)
})

const namesOf = (events: PrintedRow[]) => events.map(({ event }) => event)

t.test('of concurrent rotations of one key, one succeeds', async (t) => {
  const { databaseUrl, keys } = await startNotes(t, {
    config: { DATABASE_TIMEOUT_MS: 60_000 }
  })
  const holder = await connect(t, databaseUrl)
  await holder.query('BEGIN; UPDATE api_keys SET last_used_at = now()')

  const rotations = Promise.allSettled(
    [1, 2, 3].map(() => keys.rotate('1', '24h'))
  )
  // All have seen the key as it was.
  await lockAwaited(databaseUrl, 3)
  await holder.query('COMMIT')

  t.same((await rotations).map(({ status }) => status).sort(), [
    'fulfilled',
    'rejected',
    'rejected'
  ])
  t.match(await keys.list(), [
    { replaced_by: '2' },
    { replaced_by: null, expires_at: null }
  ])
  t.same(namesOf(await keys.events()), ['created', 'rotated', 'created'])
})

t.test('only a valid key that was not replaced is rotated', async (t) => {
  const { keys } = await startNotes(t)
  await keys.rotate('1', '24h')
  await keys.revoke('2')
  const events = await keys.events()

  const others = { replaced: '1', revoked: '2', unknown: '99', malformed: 'x' }
  for (const [state, id] of Object.entries(others)) {
    const message = `Key ${id} is not valid or has been replaced; see: keys list`
    await t.rejects(keys.rotate(id, '24h'), { message }, state)
  }
  t.same(await keys.events(), events)
})

t.test(
  'the last use of a key is never listed as earlier than its creation',
  async (t) => {
    const { keys } = await startNotes(t)
    t.match(await keys.list(), [{ last_used_at: null }])
    await keys.recordUse([1n])
    const [{ last_used_at: used, created_at: created } = {}] = await keys.list()
    t.ok(used && created && used >= created)
  }
)
