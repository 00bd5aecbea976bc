import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import { insertStatement } from '../../src/framework/creates/insert.ts'
import { inputParameters } from '../../src/framework/postgres/sql.ts'
import {
  bodyColumnsFile,
  rowJsonFile
} from '../../tools/generate/json-and-columns.ts'
import { columnOf } from '../../tools/generate/column-names.ts'
import { createDatabase, query } from '../support/database.ts'

type Thing = OpenAPIV3.NonArraySchemaObject

/** A document with an operation that takes and returns a Thing. */
function documentOf(thing: Thing): OpenAPIV3.Document {
  const schema = { $ref: '#/components/schemas/Thing' }
  const content = { 'application/json': { schema } }
  const responses = { 200: { description: '', content } }

  return {
    openapi: '3.0.3',
    info: { title: 'Things', version: '1.0.0' },
    paths: { '/things': { post: { requestBody: { content }, responses } } },
    components: { schemas: { Thing: thing } }
  }
}

/** The SQL expression of the generated file. */
function expressionOf(thing: Thing): string {
  const [, expression] = /`('[^`]*)`/.exec(rowJsonFile(documentOf(thing))) ?? []

  return String(expression)
}

/** The JSON that the expression writes for a row. */
async function write(t: Test, thing: Thing, row: string) {
  const databaseUrl = await createDatabase(t)
  const json = expressionOf(thing)

  const rows = await query(
    databaseUrl,
    `SELECT ${json} AS json FROM (SELECT ${row}) AS row`
  )

  return rows[0]?.['json']
}

const required: Thing = {
  type: 'object',
  required: ['id', 'isBig', 'price', 'name', 'kind', 'code', 'madeAt', 'day'],
  properties: {
    id: { type: 'integer', format: 'int64' },
    isBig: { type: 'boolean' },
    price: { type: 'number' },
    name: { type: 'string' },
    kind: { type: 'string', enum: ['a', 'b'] },
    code: { type: 'string', format: 'uuid' },
    madeAt: { type: 'string', format: 'date-time' },
    day: { type: 'string', format: 'date' }
  }
}

t.test('an expression writes each type of property as JSON', async (t) => {
  const uuid = '0197f3c4-5a00-7000-8000-000000000001'
  const row = `
    9223372036854775807 AS id,
    true AS is_big,
    1.50 AS price,
    'a "b"' AS name,
    'a' AS kind,
    '${uuid}'::uuid AS code,
    '2026-01-31 12:00:00.1234+02'::timestamptz AS made_at,
    '2026-01-31'::date AS day`

  t.equal(
    await write(t, required, row),
    '{"id":9223372036854775807,"isBig":true,"price":1.50,"name":"a \\"b\\"",' +
      `"kind":"a","code":"${uuid}","madeAt":"2026-01-31T10:00:00.123Z",` +
      '"day":"2026-01-31"}'
  )
})

t.test('text from the database is escaped, whatever its schema', async (t) => {
  const texts: Thing = {
    type: 'object',
    required: ['kind', 'code'],
    properties: {
      kind: { type: 'string', enum: ['a', 'b'] },
      code: { type: 'string', format: 'uuid' }
    }
  }
  const row = `'a "b"' AS kind, E'c\\\\d\\n' AS code`

  t.equal(
    await write(t, texts, row),
    JSON.stringify({ kind: 'a "b"', code: 'c\\d\n' })
  )
})

t.test('a number that JSON does not have is an error', async (t) => {
  const price: Thing = {
    type: 'object',
    required: ['price'],
    properties: { price: { type: 'number' } }
  }

  for (const number of ['NaN', 'Infinity', '-Infinity']) {
    for (const type of ['numeric', 'float8']) {
      await t.rejects(write(t, price, `'${number}'::${type} AS price`), {
        message: `Thing.price must be a finite number, not ${number}`
      })
    }
  }

  t.equal(await write(t, price, `'1e-7'::float8 AS price`), '{"price":1e-07}')
})

const optional: Thing = {
  type: 'object',
  required: ['id', 'note'],
  properties: {
    first: { type: 'string' },
    id: { type: 'integer' },
    note: { type: 'string', nullable: true },
    last: { type: 'string', format: 'date-time' }
  }
}

t.test(
  'a NULL is left out if optional, null if nullable, and else an error',
  async (t) => {
    const row = (values: string) => `
      ${values}, NULL::text AS first, NULL::text AS note,
      NULL::timestamptz AS last`

    t.equal(await write(t, optional, row('1 AS id')), '{"id":1,"note":null}')
    await t.rejects(write(t, optional, row('NULL::integer AS id')), {
      code: '22004',
      message: 'Thing.id must not be null'
    })
  }
)

t.test('the columns of a body have the SQL types of its properties', (t) => {
  const columns = [
    ...bodyColumnsFile(documentOf(required)).matchAll(
      /property: '(\w+)', column: '(\w+)', type: '(\w+)'/g
    )
  ].map(([, property, column, type]) => `${property} ${column} ${type}`)

  t.same(columns, [
    'id id bigint',
    'isBig is_big boolean',
    'price price numeric',
    'name name text',
    'kind kind text',
    'code code uuid',
    'madeAt made_at timestamptz',
    'day day date'
  ])
  t.end()
})

const keywords: Thing = {
  type: 'object',
  required: ['user', 'order'],
  properties: {
    user: { type: 'string' },
    order: { type: 'integer' },
    end: { type: 'string' }
  }
}

t.test('a property whose column is a keyword is read and stored', async (t) => {
  const row = `'Ann' AS "user", 1 AS "order", 'x' AS "end"`
  const json = '{"user":"Ann","order":1,"end":"x"}'

  t.equal(await write(t, keywords, row), json)

  const columns = bodyColumnsFile(documentOf(keywords))

  t.match(columns, `property: 'user', column: '"user"', type: 'text'`)
  t.match(columns, `property: 'order', column: '"order"', type: 'integer'`)
  t.match(rowJsonFile(documentOf(keywords)), `['"user"', '"order"', '"end"']`)
})

t.test('a create stores properties whose columns are keywords', async (t) => {
  const databaseUrl = await createDatabase(t)
  const statement = insertStatement({
    table: 'things',
    id: '7',
    body: [
      { column: columnOf('user'), type: 'text' },
      { column: columnOf('order'), type: 'integer' },
      { column: columnOf('end'), type: 'text' }
    ],
    json: { expression: expressionOf(keywords), columns: [] }
  })

  await query(
    databaseUrl,
    `CREATE TABLE things (
       id bigint, "user" text, "order" integer, "end" text
     )`
  )
  await query(databaseUrl, statement, inputParameters([['Ann', 1, 'x']]))

  t.match(await query(databaseUrl, 'SELECT * FROM things'), [
    { user: 'Ann', order: 1, end: 'x' }
  ])
})

t.test('every keyword that PostgreSQL quotes is quoted', async (t) => {
  const rows = await query(
    await createDatabase(t),
    `SELECT word, quote_ident(word) AS quoted
     FROM pg_get_keywords()`
  )
  const unquoted = rows.filter(
    ({ word, quoted }) => quoted !== word && columnOf(String(word)) !== quoted
  )

  t.same(unquoted, [])
})

t.test('a body cannot have the columns of the statements of creates', (t) => {
  const names = ['fingerprint', 'ordinal', 'obstacle', 'response']

  for (const name of [...names, 'keyHash', 'keyState']) {
    const thing: Thing = {
      type: 'object',
      required: [name],
      properties: { [name]: { type: 'string' } }
    }

    t.throws(() => bodyColumnsFile(documentOf(thing)), {
      message: /^openapi.yaml: Thing.* would be the column .* Rename/
    })
  }
  t.end()
})

const rejected: { thing: Thing; message: RegExp }[] = [
  {
    thing: { properties: { id: { type: 'integer' } } },
    message: /Thing must be of the type object/
  },
  {
    thing: { type: 'object', properties: { name: { type: 'string' } } },
    message: /Thing must have a required property/
  },
  {
    thing: { type: 'object' },
    message: /Thing must have a required property/
  },
  {
    thing: {
      type: 'object',
      required: ['tags'],
      properties: { tags: { type: 'array', items: { type: 'string' } } }
    },
    message:
      /Thing.tags must be a string, .* extend tools\/generate\/json-and-columns.ts/
  },
  {
    thing: {
      type: 'object',
      required: ['owner'],
      properties: { owner: { $ref: '#/components/schemas/Thing' } }
    },
    message:
      /Thing.owner must be a string, .* extend tools\/generate\/json-and-columns.ts/
  }
]

t.test('a schema that has no SQL is rejected with what to do', (t) => {
  for (const { thing, message } of rejected) {
    t.throws(() => rowJsonFile(documentOf(thing)), { message })
  }
  t.end()
})

/** A document with an operation that returns this schema, or nothing. */
function documentReturning(schema?: OpenAPIV3.SchemaObject) {
  const document = documentOf(required)
  const content = { 'application/json': schema ? { schema } : {} }
  const responses = { 200: { description: '', content } }
  document.paths = { '/things': { get: { responses } } }

  return document
}

t.test('an array of a named schema has the expression of its items', (t) => {
  const items = { $ref: '#/components/schemas/Thing' }
  const file = rowJsonFile(documentReturning({ type: 'array', items }))

  t.match(file, "rowJson<Schemas['Thing']>")
  t.end()
})

/** The document with the same operation, whose response is a reference. */
function documentWithSharedResponse(name: string) {
  const document = documentOf(required)
  const { paths, components } = document
  const shared = paths['/things']?.post?.responses[200]
  const responses = { 200: { $ref: `#/components/responses/${name}` } }

  document.paths = { '/things': { get: { responses } } }
  document.components = {
    ...components,
    responses: { Found: shared ?? { description: '' } }
  }

  return document
}

t.test('a shared response has the expression of its schema', (t) => {
  const file = rowJsonFile(documentWithSharedResponse('Found'))

  t.match(file, "rowJson<Schemas['Thing']>")
  t.end()
})

t.test('a document without components has no expressions', (t) => {
  const { openapi, info, paths } = documentReturning()
  const document = { openapi, info, paths }

  t.notMatch(rowJsonFile(document), 'rowJson<')
  t.notMatch(bodyColumnsFile(document), 'property:')
  t.end()
})

t.test('a response without a named schema has no expression', (t) => {
  for (const document of [
    documentReturning({ type: 'object' }),
    documentReturning(),
    documentWithSharedResponse('Lost')
  ]) {
    t.notMatch(rowJsonFile(document), 'rowJson<')
  }
  t.end()
})
