import t from 'tap'
import { openDatabase } from '../../src/postgres/database.ts'
import { keyStore } from '../../src/api-keys/store.ts'
import { createDatabase, query, silent } from '../support/database.ts'
import { startService } from '../support/service.ts'

for (const settings of [
  ['datestyle = German', 'timezone = "America/St_Johns"', 'standard_conforming_strings = off'],
  ['datestyle = SQL, DMY', 'intervalstyle = sql_standard', 'bytea_output = escape', 'client_encoding = LATIN1']
]) {
  t.test(`a database with ${settings.join(', ')} returns the same values`, async (t) => {
    const databaseUrl = await createDatabase(t)
    const name = new URL(databaseUrl).pathname.slice(1)
    for (const setting of settings) await query(databaseUrl, `ALTER DATABASE ${name} SET ${setting}`)
    const { app, auth } = await startService(t, { databaseUrl })
    const before = Date.now()

    const posted = await app.inject({
      method: 'POST',
      url: '/v1/messages',
      headers: auth,
      payload: { message: 'Grüße 🐇' }
    })
    t.equal(posted.statusCode, 202)
    const { createdAt } = posted.json<{ createdAt: string }>()
    t.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.ok(Math.abs(Date.parse(createdAt) - before) < 60_000)

    const category = { name: 'Grüße \\ 🐇', description: "it's \\x41" }
    await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: category })
    const listed = await app.inject({ url: '/v1/categories', headers: auth })
    t.match(listed.json(), [category])

    const database = openDatabase({ url: databaseUrl, poolSize: 1, timeout: 5000 }, silent)
    t.teardown(() => database.close())
    const keys = keyStore(database)
    await keys.create('temporary', '1h')
    await keys.noteUse([{ id: 1n, state: 'valid' }])
    const [first, temporary] = await keys.list()
    const time = (text: string | null | undefined) => new Date(String(text)).toISOString()
    t.equal(time(first?.['created_at']), first?.['created_at'])
    t.equal(time(first?.['last_used_at']), first?.['last_used_at'])
    t.equal(Date.parse(String(temporary?.['expires_at'])) - Date.parse(String(temporary?.['created_at'])), 3_600_000)
    t.equal(first?.['expires_at'], null)
    const [event] = await keys.events()
    t.equal(time(event?.['at']), event?.['at'])
  })
}
