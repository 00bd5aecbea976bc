import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import {
  bodyColumnsFile,
  rowJsonFile
} from '../../tools/generate/json-and-columns.ts'
import { createDatabase, query } from '../support/database.ts'

type Properties = Record<string, OpenAPIV3.SchemaObject>

const $ref = '#/components/schemas/Thing'

/** An API whose operation takes a Thing and returns Things. */
function apiOf(properties: Properties, required = Object.keys(properties)) {
  const contentOf = (schema: object) => ({ 'application/json': { schema } })
  const post = {
    operationId: 'createThing',
    requestBody: { content: contentOf({ $ref }) },
    responses: { 200: { $ref: '#/components/responses/Things' } }
  }
  const list = { type: 'array', items: { $ref } }
  const Things = { description: '', content: contentOf(list) }
  const Thing = { type: 'object' as const, required, properties }

  return {
    document: {
      openapi: '3.0.3',
      info: { title: 'Things', version: '1.0.0' },
      paths: { '/things': { post } },
      components: { schemas: { Thing }, responses: { Things } }
    }
  }
}

type Api = ReturnType<typeof apiOf>

/** The JSON that the SQL expression of the generated file writes for a row. */
async function write(t: Test, api: Api, row: string) {
  const [, expression] = /`('[^`]*)`/.exec(rowJsonFile(api)) ?? []
  const rows = await query(
    await createDatabase(t),
    `SELECT ${expression} AS json FROM (SELECT ${row}) AS row`
  )

  return rows[0]?.['json']
}

/** The generated files of the notes show the other types. */
const things = apiOf({
  number: { type: 'integer', format: 'int64' },
  price: { type: 'number' },
  code: { type: 'string', format: 'uuid' },
  madeAt: { type: 'string', format: 'date-time' },
  day: { type: 'string', format: 'date' },
  tags: { type: 'array', items: { type: 'string' } },
  "it's": { type: 'boolean' }
})

t.test(
  'a row becomes JSON, its text escaped whatever its schema',
  async (t) => {
    const row = `
    9223372036854775807 AS number,
    1.50 AS price,
    E'c\\\\d\\n"' AS code,
    '2026-01-31 12:00:00.1234+02'::timestamptz AS made_at,
    '2026-01-31'::date AS day,
    '["a", "b"]'::jsonb AS tags,
    true AS "it's"`

    t.equal(
      await write(t, things, row),
      '{"number":9223372036854775807,"price":1.50,' +
        String.raw`"code":"c\\d\n\"","madeAt":"2026-01-31T10:00:00.123Z",` +
        `"day":"2026-01-31","tags":["a", "b"],"it's":true}`
    )
  }
)

t.test('the columns of a body have the SQL types of its properties', (t) => {
  const file = bodyColumnsFile(things)
  for (const column of [
    `column: '"price"', type: 'numeric'`,
    `column: '"code"', type: 'uuid'`,
    `column: '"made_at"', type: 'timestamptz'`,
    `column: '"day"', type: 'date'`,
    `column: '"tags"', type: 'jsonb'`,
    String.raw`property: 'it\'s', column: '"it\'s"', type: 'boolean'`
  ])
    t.match(file, column)
  t.end()
})

t.test('NULL is left out if optional, or null, or an error', async (t) => {
  const api = apiOf(
    {
      first: { type: 'string' },
      id: { type: 'integer' },
      note: { type: 'string', nullable: true }
    },
    ['id', 'note']
  )
  const row = (id: string) =>
    `${id} AS id, NULL::text AS first, NULL::text AS note`

  t.equal(await write(t, api, row('1')), '{"id":1,"note":null}')
  await t.rejects(write(t, api, row('NULL::integer')), {
    code: '22004',
    message: 'Thing.id must not be null'
  })
})

t.test('a schema without SQL is named with the reason', (t) => {
  const string = { type: 'string' as const }
  t.match(
    rowJsonFile(apiOf({ x: string }, [])),
    '// Thing is not a row, because it is not an object with a required property.'
  )
  t.match(
    bodyColumnsFile(apiOf({ recordResponse: string })),
    '// Thing has no columns, because creates use "record_response" for themselves.'
  )
  t.match(
    bodyColumnsFile(apiOf({})),
    '// Thing has no columns, because it is not an object with properties.'
  )
  t.end()
})

t.test('only referenced schemas of messages have a row', (t) => {
  const api = apiOf({ count: { type: 'integer', default: 1 } })
  const content = { 'application/json': { schema: { type: 'string' } } }
  const get = { operationId: 'getText', responses: { 200: { content } } }
  const head = { operationId: 'headText', responses: { 200: {} } }
  const put = { operationId: 'putText' }
  Object.assign(api.document.paths, { '/text': { get, head, put } })
  t.equal(rowJsonFile(api).match(/export const/g)?.length, 1)
  t.match(bodyColumnsFile(api), `type: 'integer', default: 1 }`)

  for (const Thing of [{}, { properties: { x: {} }, oneOf: [] }]) {
    Object.assign(api.document.components.schemas, { Thing })
    t.match(bodyColumnsFile(api), 'it is not an object with properties')
  }

  const lost = { operationId: 'lost', requestBody: { $ref: '#/none/X' } }
  Object.assign(api.document.paths, { '/lost': { post: lost } })
  const says = /nothing is at the reference #\/none\/X/
  t.throws(() => rowJsonFile(api), says)
  t.end()
})
