import t, { type Test } from 'tap'
import { createDatabase, query } from '../../support/database.ts'
import { listNotes, startNotes } from '../../support/notes.ts'
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

/** Starts the service on a database with these settings. */
async function startWithSettings(t: Test) {
  const databaseUrl = await createDatabase(t)
  const name = new URL(databaseUrl).pathname.slice(1)
  for (const setting of settings)
    await query(databaseUrl, `ALTER DATABASE ${name} SET ${setting}`)

  return startNotes(t, { databaseUrl })
}

/** Asserts that the value is the current time in UTC, as in RFC 3339. */
function isNow(t: Test, value: unknown, what: string) {
  const twoMinutes = 120_000
  const distance = Math.abs(Date.parse(String(value)) - Date.now())
  t.match(value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, what)
  t.ok(distance < twoMinutes, what)
}

const service = await startWithSettings(t)

const created = (body: object, headers = {}) =>
  post(service, 'notes', body, headers)

t.test(
  'no setting of the database changes text, or NULL into text',
  async (t) => {
    const note = { name: 'Grüße \\ 🐇', description: "it's \\x41" }
    for (const headers of [{}, { 'idempotency-key': 'key' }]) {
      const response = await created({ name: 'no description' }, headers)
      t.same(Object.keys(response.json<object>()), ['id', 'name'])
    }
    t.match((await created(note)).json(), note)

    const listed = (await listNotes(service)).json<{ description?: string }[]>()
    t.match(listed.at(-1), note)
    t.notOk(listed.some(({ description }) => description === 'NULL'))
  }
)

t.test('no setting of the database changes pages or times', async (t) => {
  const { id: noteId } = (await created({ name: 'x' })).json<{ id: number }>()
  for (const text of ['first', 'second']) {
    const response = await post(service, 'remarks', { text, noteId })
    isNow(t, response.json<{ createdAt: string }>().createdAt, 'createdAt')
  }

  const first = await get(service, 'remarks?limit=1')
  const [, link = ''] = /<(.+)>/.exec(String(first.headers.link)) ?? []
  const second = await get(service, `remarks${link}`)
  t.match(first.json(), [{ text: 'first' }])
  t.match(second.json(), [{ text: 'second' }])
})

t.test('no setting of the database changes the times of keys', async (t) => {
  const { keys } = service
  await keys.create('temporary', { lifetime: '1h' })
  const [first, temporary] = await keys.list()
  isNow(t, first?.['created_at'], 'created_at')
  t.equal(first?.['expires_at'], null)

  const createdAt = Date.parse(String(temporary?.['created_at']))
  const expiresAt = Date.parse(String(temporary?.['expires_at']))
  t.equal(expiresAt - createdAt, 3_600_000, 'it expires after an hour')

  const [event] = await keys.events()
  isNow(t, event?.['at'], 'the time of an event')
})
