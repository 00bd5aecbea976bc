import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import { columnsOfCreates } from '../../tools/generate/column-names.ts'
import {
  bodyColumnsFile,
  rowJsonFile
} from '../../tools/generate/json-and-columns.ts'
import { createDatabase, query } from '../support/database.ts'

type Properties = Record<
  string,
  OpenAPIV3.SchemaObject | OpenAPIV3.ReferenceObject
>

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
      paths: {
        '/things': {
          post,
          delete: { operationId: 'x', responses: { 204: { description: '' } } }
        }
      },
      components: { schemas: { Thing }, responses: { Things } }
    }
  }
}

type Api = ReturnType<typeof apiOf>

/** The SQL expression of the generated file. */
const expressionOf = (api: Api) =>
  String(/`('[^`]*)`/.exec(rowJsonFile(api))?.[1])

/** The JSON that the expression writes for a row. */
async function write(t: Test, api: Api, row: string) {
  const rows = await query(
    await createDatabase(t),
    `SELECT ${expressionOf(api)} AS json FROM (SELECT ${row}) AS row`
  )

  return rows[0]?.['json']
}

const everyType = apiOf({
  number: { type: 'integer', format: 'int64' },
  count: { type: 'integer' },
  isBig: { type: 'boolean' },
  price: { type: 'number' },
  name: { type: 'string' },
  kind: { type: 'string', enum: ['a', 'b'], default: 'a' },
  code: { type: 'string', format: 'uuid' },
  madeAt: { type: 'string', format: 'date-time' },
  day: { type: 'string', format: 'date' },
  user: { type: 'string' },
  tags: { type: 'array', items: { type: 'string' } },
  owner: { $ref },
  source: { oneOf: [{ type: 'object' }, { $ref }] },
  "it's": {}
})

t.test(
  'a row becomes JSON, its text escaped whatever its schema',
  async (t) => {
    const row = `
    9223372036854775807 AS number,
    2 AS count,
    true AS is_big,
    1.50 AS price,
    'a "b"' AS name,
    'a "b"' AS kind,
    E'c\\\\d\\n' AS code,
    '2026-01-31 12:00:00.1234+02'::timestamptz AS made_at,
    '2026-01-31'::date AS day,
    'Ann' AS "user",
    '["a", "b"]'::jsonb AS tags,
    '{}'::jsonb AS owner,
    '{"n": 9007199254740993}'::jsonb AS source,
    'text'::text AS "it's"`

    t.equal(
      await write(t, everyType, row),
      '{"number":9223372036854775807,"count":2,"isBig":true,"price":1.50,' +
        String.raw`"name":"a \"b\"","kind":"a \"b\"","code":"c\\d\n",` +
        '"madeAt":"2026-01-31T10:00:00.123Z","day":"2026-01-31","user":"Ann",' +
        `"tags":["a", "b"],"owner":{},"source":{"n": 9007199254740993},"it's":"text"}`
    )
  }
)

t.test('the columns of a body have the SQL types of its properties', (t) => {
  const columns = [
    ...bodyColumnsFile(everyType).matchAll(
      /property: '(\w+)', column: '(.+)', type: '(\w+)'(.*) }/g
    )
  ].map(([, ...parts]) => parts.join(' ').trim())

  t.same(columns, [
    'number "number" bigint',
    'count "count" integer',
    'isBig "is_big" boolean',
    'price "price" numeric',
    'name "name" text',
    'kind "kind" text , default: "a"',
    'code "code" uuid',
    'madeAt "made_at" timestamptz',
    'day "day" date',
    'user "user" text',
    'tags "tags" jsonb',
    'owner "owner" jsonb',
    'source "source" jsonb'
  ])
  t.end()
})

t.test('NULL is left out if optional, or null, or an error', async (t) => {
  const api = apiOf(
    {
      first: { type: 'string' },
      id: { type: 'integer' },
      note: { type: 'string', nullable: true },
      last: { type: 'string', format: 'date-time' }
    },
    ['id', 'note']
  )
  const row = (id: string) => `
    ${id} AS id, NULL::text AS first, NULL::text AS note,
    NULL::timestamptz AS last`

  t.equal(await write(t, api, row('1')), '{"id":1,"note":null}')
  await t.rejects(write(t, api, row('NULL::integer')), {
    code: '22004',
    message: 'Thing.id must not be null'
  })
})

const string = { type: 'string' as const }

t.test('a schema without SQL is named with the reason', (t) => {
  const notRow = '// Thing is not a row, because it is not an object with'
  t.match(rowJsonFile(apiOf({ x: string }, [])), notRow)

  for (const name of [...columnsOfCreates, 'recordResponse']) {
    t.match(
      bodyColumnsFile(apiOf({ [name]: string })),
      /\/\/ Thing has no columns, because creates use ".*" for themselves/
    )
  }
  for (const schema of [{ type: 'array' }, { allOf: [] }, {}]) {
    const api = apiOf({})
    Object.assign(api.document.components.schemas, { Thing: schema })
    t.match(
      bodyColumnsFile(api),
      '// Thing has no columns, because it is not an object with properties'
    )
  }
  t.end()
})

t.test('a reference to nothing is an error', (t) => {
  const api = apiOf({ x: string })
  Object.assign(api.document, { components: {} })
  t.throws(() => rowJsonFile(api), {
    message:
      'openapi.yaml: nothing is at the reference #/components/responses/Things'
  })
  t.end()
})

t.test('an operation without responses has no rows', (t) => {
  const api = apiOf({ x: string })
  Object.assign(api.document.paths['/things'].post, { responses: undefined })
  t.equal(expressionOf(api), 'undefined')
  t.end()
})
