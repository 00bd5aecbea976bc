import pg from 'pg'
import t from 'tap'
import { keyCommands } from '../../src/api-keys/commands.ts'
import { hashKey } from '../../src/api-keys/key.ts'
import { query } from '../support/database.ts'
import { keyPattern } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test(
  'keys are created, listed, rotated and revoked, and the audit log shows it',
  async (t) => {
    const { app, databaseUrl, keys } = await startService(t)
    /** Runs a key command in this process, and returns what it prints. */
    const call = async (command: string) => {
      let output = ''
      const program = keyCommands(
        async (action) => void (output = await action(keys))
      )
      await program.parseAsync(command.split(' '), { from: 'user' })
      return output
    }
    const rows = async (command: string) =>
      JSON.parse(await call(`${command} --json`)) as Record<
        string,
        string | null
      >[]
    const status = async (key: string) =>
      (
        await app.inject({
          url: '/v1/categories',
          headers: { authorization: `Bearer ${key}` }
        })
      ).statusCode

    const old = await call('create --name team --expires 90d')
    t.match(old, new RegExp(`^${keyPattern.source}$`))
    const successor = await call('rotate 2 --overlap 1h')
    t.same([await status(old), await status(successor)], [200, 200])
    await call('rotate 3 --overlap 0s --expires 7d')
    await call('rotate 4')
    await call('create --name short --expires 60s')
    await call('rotate 6')
    t.equal(
      await call('revoke 2'),
      'Revoked key 2. It stops working within a second.'
    )

    const listed = await rows('list')
    t.match(listed, [
      {
        id: '1',
        name: 'test',
        state: 'valid',
        expires_at: null,
        revoked_at: null,
        replaced_by: null
      },
      {
        id: '2',
        name: 'team',
        prefix: old.slice(0, 15),
        state: 'revoked',
        replaced_by: '3'
      },
      {
        id: '3',
        name: 'team',
        prefix: successor.slice(0, 15),
        state: 'expired',
        replaced_by: '4'
      },
      { id: '4', name: 'team', state: 'valid', replaced_by: '5' },
      { id: '5', name: 'team', state: 'valid', replaced_by: null }
    ])
    const minutes = listed.map(
      (row) =>
        (Date.parse(row['expires_at'] ?? '') -
          Date.parse(row['created_at'] ?? '')) /
        60_000
    )
    const [hour, day] = [60, 1440]
    // An old key ends with the overlap, which does not extend a short life. Its successor has the same lifetime.
    t.same(minutes.slice(1).map(Math.round), [hour, 0, day, 7 * day, 1, 1])
    const audit = (await rows('audit')).map(
      (row) => `${row['key_id']} ${row['event']}`
    )
    t.same(audit, [
      ...[
        '1 created',
        '2 created',
        '2 rotated',
        '3 created',
        '3 rotated',
        '4 created',
        '4 rotated',
        '5 created'
      ],
      ...['6 created', '6 rotated', '7 created', '2 revoked']
    ])

    t.match(
      await call('audit'),
      /^AT +KEY_ID +NAME +EVENT +COMMAND\n\S+Z +1 +test +created +test\n/
    )
    const sql =
      "SELECT encode(hash, 'hex') AS hash, api_keys::text FROM api_keys WHERE id = 2"
    const stored = await query(databaseUrl, sql)
    t.match(stored, [{ hash: hashKey(old) }])
    t.notMatch(
      JSON.stringify([stored, await call('list'), listed]),
      old.slice(0, 17),
      'no key is stored or shown'
    )
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
  const { keys } = await startService(t)
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

t.test('of concurrent rotations of one key, one succeeds', async (t) => {
  const { databaseUrl, keys } = await startService(t, {
    config: { DATABASE_TIMEOUT_MS: 60_000 }
  })
  const holder = new pg.Client({ connectionString: databaseUrl })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query('BEGIN; UPDATE api_keys SET last_used_at = now()')
  const rotations = Promise.allSettled(
    [1, 2, 3].map(() => keys.rotate('1', '24h'))
  )
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  await until(
    async () => (await query(databaseUrl, waiting)).length === 3,
    'all have seen the key as it was'
  )
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
  await keys.revoke('2')
  for (const id of ['1', '2', '99', 'x']) {
    await t.rejects(keys.rotate(id, '24h'), {
      message: `Key ${id} is not valid or has been replaced; see: keys list`
    })
  }
  t.same(
    (await keys.events()).map(({ event }) => event),
    ['created', 'rotated', 'created', 'revoked']
  )
})

t.test(
  'the last use of a key is never listed as earlier than its creation',
  async (t) => {
    const { keys } = await startService(t)
    t.match(await keys.list(), [{ last_used_at: null }])
    await keys.noteUse([1n])
    const [{ last_used_at: used, created_at: created } = {}] = await keys.list()
    t.ok(used && created && used >= created)
  }
)
