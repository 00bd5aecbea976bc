// SQL from the schemas of the OpenAPI document: how a row becomes the JSON of a
// response, and how the body of a request becomes a row. A property
// `categoryId` has the column `category_id`.
import type { OpenAPIV3 } from 'openapi-types'
import { columnOf, rejectColumnOfCreates } from './column-names.ts'
import { operationsOf, targetOf } from './openapi.ts'

type Schema = OpenAPIV3.SchemaObject | OpenAPIV3.ReferenceObject

/** A property of a schema, and the column that holds it. */
interface Property {
  /** As in `Category.name`. */
  path: string
  name: string
  /** As SQL. */
  column: string
  schema: OpenAPIV3.SchemaObject
  isRequired: boolean
}

/** The first line of generated TypeScript. */
export const header =
  '// Generated from openapi.yaml by `npm run generate`. Do not edit.\n\n'

/** generated/json.ts: for each schema of a response, a row as its JSON. */
export function rowJsonFile(document: OpenAPIV3.Document, root = '..'): string {
  const rows = responseSchemas(document).map(
    (name) => `
/** Writes a row as the JSON of the schema ${name}. */
export const ${name} = rowJson<Schemas['${name}']>(
  \`${jsonExpression(document, name)}\`,
  [${columnNames(document, name)}]
)
`
  )

  return `${header}import { rowJson } from '${root}/src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']
${rows.join('')}`
}

/** generated/columns.ts: for each schema of a request, its columns. */
export function bodyColumnsFile(
  document: OpenAPIV3.Document,
  root = '..'
): string {
  const bodies = requestSchemas(document).map((name) => {
    const lines = propertiesOf(document, name).map(bodyColumn)

    return `
/** The columns that store the body ${name}. */
export const ${name}: BodyColumn<Schemas['${name}']>[] = [
${lines.join(',\n')}
]
`
  })

  return `${header}import type { BodyColumn } from '${root}/src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']
${bodies.join('')}`
}

function jsonExpression(document: OpenAPIV3.Document, name: string): string {
  const properties = propertiesOf(document, name)
  // The first property has no comma, so it must be present in each row.
  const first = properties.find(({ isRequired }) => isRequired)
  if (first === undefined)
    throw new Error(`openapi.yaml: ${name} must have a required property`)

  const others = properties.filter((property) => property !== first)
  const lines = [
    `'{"${first.name}":' || ${requiredValue(first)}`,
    ...others.map(laterProperty),
    `'}'`
  ]

  return lines.join('\n  || ')
}

/** As the elements of an array in TypeScript. */
function columnNames(document: OpenAPIV3.Document, name: string): string {
  const properties = propertiesOf(document, name)
  return properties.map(({ column }) => `'${column}'`).join(', ')
}

function laterProperty(property: Property): string {
  const { name, isRequired } = property
  return isRequired
    ? `',"${name}":' || ${requiredValue(property)}`
    : `coalesce(',"${name}":' || ${jsonValue(property)}, '')`
}

function requiredValue(property: Property): string {
  const { path, schema } = property
  const ifNull = schema.nullable ? `'null'` : `missing_property('${path}')`
  return `coalesce(${jsonValue(property)}, ${ifNull})`
}

/** An SQL expression for a column as JSON; NULL for a NULL. */
function jsonValue({ path, column, schema }: Property): string {
  const { type, format } = schema

  if (type === 'number') return `finite_number('${path}', ${column}::text)`

  if (type !== 'string') return `${column}::text`

  if (format === 'date-time') return `'"' || ${isoTime(column)} || '"'`

  return `to_json(${column})::text`
}

/** In UTC to the millisecond, whatever `datestyle` an operator has set. */
function isoTime(column: string): string {
  const format = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
  return `to_char(${column} AT TIME ZONE 'UTC', '${format}')`
}

function bodyColumn({ path, name, column, schema }: Property): string {
  const type = sqlType(schema)
  rejectColumnOfCreates(path, column)
  return `  { property: '${name}', column: '${column}', type: '${type}' }`
}

function sqlType({ type, format }: OpenAPIV3.SchemaObject): string {
  switch (type) {
    case 'integer':
      return format === 'int64' ? 'bigint' : 'integer'
    case 'number':
      return 'numeric'
    case 'boolean':
      return 'boolean'
    default:
      return sqlTypeOfText(format)
  }
}

function sqlTypeOfText(format = ''): string {
  switch (format) {
    case 'uuid':
      return 'uuid'
    case 'date':
      return 'date'
    case 'date-time':
      return 'timestamptz'
    default:
      return 'text'
  }
}

/**
 * The properties of a schema of the document.
 *
 * @throws Error for what has no column
 */
function propertiesOf(document: OpenAPIV3.Document, name: string): Property[] {
  const schema = document.components?.schemas?.[name]
  if (schema === undefined || '$ref' in schema || schema.type !== 'object')
    throw new Error(`openapi.yaml: ${name} must be of the type object`)

  const properties = Object.entries(schema.properties ?? {})

  return properties.map(([property, propertySchema]) => {
    const path = `${name}.${property}`

    return {
      path,
      name: property,
      column: columnOf(property),
      schema: scalar(path, propertySchema),
      isRequired: schema.required?.includes(property) === true
    }
  })
}

const scalars = ['string', 'integer', 'number', 'boolean']

function scalar(path: string, schema: Schema): OpenAPIV3.SchemaObject {
  if ('$ref' in schema || !scalars.includes(String(schema.type))) {
    throw new Error(
      `openapi.yaml: ${path} must be a string, integer, number or boolean. ` +
        'To have arrays or objects in rows, extend tools/generate/json-and-columns.ts'
    )
  }

  return schema
}

type Message = OpenAPIV3.ResponseObject | OpenAPIV3.RequestBodyObject

/** The names of the schemas that responses of a success contain. */
function responseSchemas(document: OpenAPIV3.Document): string[] {
  const { responses: shared = {} } = document.components ?? {}
  const responses = operationsOf(document).flatMap((operation) =>
    Object.entries(operation.responses)
      .filter(([status]) => status.startsWith('2'))
      .map(([, response]) => targetOf(response, shared))
  )

  return namesOf(responses)
}

/** The names of the schemas of bodies of requests. */
function requestSchemas(document: OpenAPIV3.Document): string[] {
  const { requestBodies: shared = {} } = document.components ?? {}
  const bodies = operationsOf(document).map(
    ({ requestBody }) => requestBody && targetOf(requestBody, shared)
  )

  return namesOf(bodies)
}

/** The schemas that the messages refer to, or arrays of which they have. */
function namesOf(messages: (Message | undefined)[]): string[] {
  const names = messages.flatMap((message) => {
    const schema = message?.content?.['application/json']?.schema
    return schema ? referenceOf(schema) : []
  })

  return [...new Set(names)].sort()
}

function referenceOf(schema: Schema): string[] {
  const target = 'items' in schema ? schema.items : schema
  return '$ref' in target
    ? [target.$ref.replace('#/components/schemas/', '')]
    : []
}
