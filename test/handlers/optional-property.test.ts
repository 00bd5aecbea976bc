// The promise of CONTRIBUTING: an optional property needs openapi.yaml,
// generated files and a migration, and no other code.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { copyRepository } from '../support/copy.ts'
import { createDatabase, query } from '../support/database.ts'
import { call, run, started } from '../support/process.ts'
import { createKeyIn } from '../support/service.ts'

/** A copy of the project, with a property `color` of both schemas. */
function copyWithColor(t: Test): string {
  const directory = copyRepository(t)
  const document = path.join(directory, 'openapi.yaml')
  const text = readFileSync(document, 'utf8')
  writeFileSync(document, withColor(withColor(text, 'NewCategory'), 'Category'))

  return directory
}

function withColor(document: string, schema: string): string {
  const properties = new RegExp(`(?<=^    ${schema}:\n[^]*?properties:\n)`, 'm')
  const color = `        color:
          type: string
          description: Color of the category
`

  return document.replace(properties, color)
}

/** Starts the copied service on a database whose table has the column. */
async function startCopy(t: Test, cwd: string) {
  const databaseUrl = await createDatabase(t)
  const key = await createKeyIn(databaseUrl)

  await query(databaseUrl, "INSERT INTO categories (name) VALUES ('old')")
  await query(databaseUrl, 'ALTER TABLE categories ADD COLUMN color text')

  const service = run(t, ['node', '--import', 'tsx', 'src/main.ts'], {
    cwd,
    env: { DATABASE_URL: databaseUrl, PORT: '0' }
  })
  const url = `${await started(service)}/v1/categories`
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json'
  }

  return {
    list: async () => (await fetch(url, { headers })).text(),
    create: async (category: string, idempotencyKey?: string) => {
      const keyed =
        idempotencyKey === undefined
          ? headers
          : { ...headers, 'idempotency-key': idempotencyKey }
      const request = { method: 'POST', headers: keyed, body: category }

      return (await fetch(url, request)).text()
    }
  }
}

t.test(
  'a property that is added is stored and listed, and left out where it is NULL',
  async (t) => {
    const cwd = copyWithColor(t)
    const generated = await call(
      t,
      ['node', '--import', 'tsx', 'tools/generate.ts'],
      { cwd }
    )
    t.same(generated, { code: 0, output: '' })

    const { create, list } = await startCopy(t, cwd)
    const categories = [
      '{"id":1,"name":"old"}',
      '{"id":2,"color":"red","name":"Dog"}',
      '{"id":3,"name":"Cat"}',
      '{"id":4,"color":"blue","name":"Fox"}'
    ]

    t.equal(await create('{"color":"red","name":"Dog"}'), categories[1])
    t.equal(await create('{"name":"Cat"}', 'cat'), categories[2])
    t.equal(await create('{"name":"Fox","color":"blue"}', 'fox'), categories[3])
    t.equal(await list(), `[${categories.join()}]`)
  }
)
