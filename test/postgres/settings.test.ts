import t from 'tap'
import { createDatabase, query } from '../support/database.ts'
import { list, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const settings = [
  ...[
    'datestyle = German',
    'timezone = "America/St_Johns"',
    'intervalstyle = sql_standard'
  ],
  ...[
    'standard_conforming_strings = off',
    'bytea_output = escape',
    'client_encoding = LATIN1'
  ]
]

t.test(
  `a database with ${settings.join(', ')} returns the same values`,
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const name = new URL(databaseUrl).pathname.slice(1)
    for (const setting of settings)
      await query(databaseUrl, `ALTER DATABASE ${name} SET ${setting}`)
    const service = await startService(t, { databaseUrl })
    const isTime = (value: unknown, what: string) => {
      t.match(value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, what)
      t.ok(Math.abs(Date.parse(String(value)) - Date.now()) < 120_000, what)
    }

    const sent = await post(service, 'messages', { message: 'Grüße 🐇' })
    isTime(sent.json<{ createdAt: string }>().createdAt, 'createdAt')
    const category = { name: 'Grüße \\ 🐇', description: "it's \\x41" }
    await post(service, 'categories', category)
    t.match((await list(service)).json(), [category])

    const { keys } = service
    await keys.create('temporary', '1h')
    const [first, temporary] = await keys.list()
    isTime(first?.['created_at'], 'created_at')
    t.equal(first?.['expires_at'], null)
    const [start, end] = ['created_at', 'expires_at'].map((name) =>
      Date.parse(String(temporary?.[name]))
    )
    t.equal(Number(end) - Number(start), 3_600_000)
    isTime((await keys.events())[0]?.['at'], 'the time of an event')
  }
)
