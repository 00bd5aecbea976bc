import t from 'tap'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { listNotes, startNotes } from '../../support/notes.ts'
import { post } from '../../support/requests.ts'

const url = await createDatabase(t)

/** The URL of the database, for sessions with these options. */
function urlWith(options: string): string {
  const changed = new URL(url)
  changed.searchParams.set('options', options)
  return changed.href
}

t.test('times are in UTC, whatever the session has set', async (t) => {
  const options = '-c datestyle=German -c timezone=America/St_Johns'
  const service = await startNotes(t, { databaseUrl: urlWith(options) })
  const time = '2030-06-01T12:00:00.500Z'
  await post(service, 'notes', { name: 'x', dueAt: time })
  await query(url, `UPDATE api_keys SET created_at = '${time}'`)
  t.match((await listNotes(service)).json(), [{ dueAt: time }])
  t.match(await service.keys.list(), [{ created_at: time }])
})

/** Settings with which the statements would not do what they say. */
const rejected = [
  ['default_transaction_isolation', 'read committed', 'serializable'],
  ['session_replication_role', 'origin', 'replica']
]

for (const [name, needed, value] of rejected) {
  t.test(`a session with ${name} = ${value} is rejected`, async (t) => {
    const database = openDatabase(t, urlWith(`-c ${name}=${value}`))
    await t.rejects(database.run('reads', { text: 'SELECT' }), {
      message: `its setting ${name} must be '${needed}', not '${value}'`
    })
  })
}
