// Keeps generated/statements.sql: the SQL of each operation, whole, as
// PostgreSQL gets it. After a change of a statement, record it again:
//
//   npm test -- --snapshot test/resources/statements.test.ts
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { createDatabase, query } from '../support/database.ts'
import { get, post } from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'

const file = 'generated/statements.sql'

const header = `-- The SQL statements of each operation. A statement that several operations
-- run stands at the first of them. To run one, paste its PREPARE into psql, then
-- EXECUTE it with values: EXECUTE "pets-by-id"('{1,2}').
--
-- Recorded by test/resources/statements.test.ts. Do not edit.
`

/** Requests that run all statements of an operation. */
interface Step {
  title: string
  send: (service: Service) => Promise<unknown>[]
}

const once = { 'idempotency-key': 'key' }

/** A create, and one with an Idempotency-Key. */
const creates = (path: string, body: object) => (service: Service) => [
  post(service, path, body),
  post(service, path, body, once)
]

/** Lists more categories than a page has. */
async function listPages(service: Service) {
  await query(
    service.databaseUrl,
    `INSERT INTO categories (name)
     SELECT 'x' FROM generate_series(1, 1001)`
  )
  return get(service, 'categories')
}

const steps: Step[] = [
  {
    title: 'Every operation',
    send: (service) => [post(service, 'categories', {})]
  },
  {
    title: 'GET /categories',
    send: (service) => [listPages(service)]
  },
  {
    title: 'POST /categories',
    send: creates('categories', { name: 'Dog' })
  },
  {
    title: 'POST /messages',
    send: creates('messages', { message: 'Hello' })
  },
  {
    title: 'GET /pets',
    send: (service) => [get(service, 'pets'), get(service, 'pets?status=sold')]
  },
  {
    title: 'POST /pets',
    send: creates('pets', { name: 'Bella', categoryId: 1 })
  },
  {
    title: 'GET /pets/{petId}',
    send: (service) => [get(service, 'pets/1')]
  },
  {
    title: 'GET /store/orders',
    send: (service) => [get(service, 'store/orders')]
  },
  {
    title: 'DELETE /store/orders/{orderId}',
    send: ({ app, auth }) => [
      app.inject({
        method: 'DELETE',
        url: '/v1/store/orders/1',
        headers: auth
      })
    ]
  }
]

/** The statements that the session has prepared, by their names. */
async function preparedBy({ database }: Service): Promise<Map<string, string>> {
  const rows = await database.read<{ name: string; statement: string }>({
    text: 'SELECT name, statement FROM pg_prepared_statements ORDER BY name'
  })

  return new Map(rows.map(({ name, statement }) => [name, statement.trim()]))
}

/** The SQL of all steps. */
async function record(service: Service): Promise<string> {
  const known = new Set<string>()
  let text = header

  for (const { title, send } of steps) {
    await Promise.all(send(service))
    text += `\n-- ${title}\n`

    for (const [name, statement] of await preparedBy(service)) {
      if (known.has(name)) continue

      known.add(name)
      text += `\nPREPARE "${name}" AS\n${statement};\n`
    }
  }

  return text
}

t.test(`${file} has the statements of the service`, async (t) => {
  // On one connection, so that one session prepares all statements.
  const service = await startService(t, {
    config: { MAX_DATABASE_CONNECTIONS: 1 }
  })
  const recorded = await record(service)

  if (process.env['TAP_SNAPSHOT'] === '1') writeFileSync(file, recorded)

  t.equal(readFileSync(file, 'utf8'), recorded)
})

t.test(`${file} can be pasted into psql`, async (t) => {
  const databaseUrl = await createDatabase(t)

  await t.resolves(query(databaseUrl, readFileSync(file, 'utf8')))
})
