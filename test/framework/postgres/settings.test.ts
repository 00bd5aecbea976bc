// No setting of the database changes what clients read.
import t, { type Test } from 'tap'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { listNotes, serviceName, startNotes } from '../../support/notes.ts'
import { get, post } from '../../support/requests.ts'

/** Settings of a database that change what SQL means, or how values look. */
const settings = [
  'array_nulls = off',
  'bytea_output = escape',
  'client_encoding = LATIN1',
  'datestyle = German',
  'extra_float_digits = -15',
  'intervalstyle = sql_standard',
  'quote_all_identifiers = on',
  'standard_conforming_strings = off',
  'timezone = "America/St_Johns"',
  'transform_null_equals = on'
]

const databaseUrl = await createDatabase(t)
const name = new URL(databaseUrl).pathname.slice(1)
for (const setting of settings)
  await query(databaseUrl, `ALTER DATABASE ${name} SET ${setting}`)
const service = await startNotes(t, { databaseUrl })

/** The current time in UTC, as in RFC 3339. */
function isNow(t: Test, value: unknown) {
  t.match(value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const twoMinutes = 120_000
  t.ok(Math.abs(Date.parse(String(value)) - Date.now()) < twoMinutes)
}

t.test('text is what was sent, and NULL is absent', async (t) => {
  const notes = [
    { id: 1, name: 'NULL' },
    { id: 2, name: 'Grüße \\ 🐇', description: "it's \\x41" }
  ]
  for (const { id, ...body } of notes) {
    const keyed = { 'idempotency-key': `key-${id}` }
    for (const headers of [keyed, keyed]) {
      const response = await post(service, 'notes', body, headers)
      t.same(response.json(), { id, ...body })
    }
  }
  t.same((await listNotes(service)).json(), notes)
})

t.test('pages continue, and times are in UTC', async (t) => {
  const remarks: { id: string; createdAt: string }[] = []
  for (const text of ['a', 'b', 'c'])
    remarks.push((await post(service, 'remarks', { text, noteId: 1 })).json())
  for (const { createdAt } of remarks) isNow(t, createdAt)

  const first = await get(service, 'remarks?limit=2')
  const [, link = ''] = /<(.+)>/.exec(String(first.headers.link)) ?? []
  const second = await get(service, `remarks${link}`)
  const byId = remarks.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  t.same([...first.json<[]>(), ...second.json<[]>()], byId)

  const { keys } = service
  await keys.create('temporary', { lifetime: '1h' })
  const [, temporary] = await keys.list()
  isNow(t, temporary?.['created_at'])
  const age = Date.parse(String(temporary?.['created_at']))
  t.equal(Date.parse(String(temporary?.['expires_at'])) - age, 3_600_000)
})

t.test('parameters of the URL do not override the service', async (t) => {
  const url = new URL(databaseUrl)
  const parameters = { max: '1', query_timeout: '1', application_name: 'x' }
  for (const [parameter, value] of Object.entries(parameters))
    url.searchParams.set(parameter, value)
  const database = openDatabase(t, url.href)
  const text = `SELECT
    pg_backend_pid() AS pid, current_setting('application_name') AS name,
    pg_sleep(0.1)`
  const reads = [1, 2].map(() =>
    database.run<{ name: string; pid: number }>('reads', { text })
  )
  const [first, second] = (await Promise.all(reads)).flat()
  t.not(first?.pid, second?.pid, 'each has a connection')
  t.equal(first?.name, serviceName)
})

/** Settings with which the statements would not do what they say. */
const rejected = {
  "default_transaction_isolation = 'repeatable read'":
    "its setting default_transaction_isolation must be 'read committed', not 'repeatable read'",

  'session_replication_role = replica':
    "its setting session_replication_role must be 'origin', not 'replica'"
}

for (const [setting, reason] of Object.entries(rejected)) {
  t.test(`a session with ${setting} is rejected`, async (t) => {
    const url = await createDatabase(t)
    const database = new URL(url).pathname.slice(1)
    await query(url, `ALTER DATABASE ${database} SET ${setting}`)

    const select = openDatabase(t, url).run('reads', { text: 'SELECT' })
    const message: unknown = await select.catch((error: Error) => error.message)
    t.match(message, `the database is unavailable: ${reason}`)
  })
}
