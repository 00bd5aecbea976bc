// SQL from the schemas of the OpenAPI document: how a row becomes the JSON of a
// response, and how the body of a request becomes a row. A property
// `categoryId` has the column `category_id`.
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { columnOf, rejectColumnOfCreates } from './column-names.ts'
import { type Message, operationsOf, type Schema } from './openapi.ts'

type Documented = Pick<ApiDocument, 'document'>

/** A property of a schema, and the column that holds it. */
interface Property {
  /** As in `Category.name`. */
  path: string
  name: string
  /** As SQL. */
  column: string
  schema: Schema
  isRequired: boolean
}

/** The first line of generated TypeScript. */
export const header =
  '// Generated from openapi.yaml by `npm run generate`. Do not edit.\n\n'

/** generated/json.ts: for each schema of a response, a row as its JSON. */
export function rowJsonFile(apiDocument: Documented, root = '..'): string {
  const messages = operationsOf(apiDocument).flatMap(({ responses }) =>
    responses
      .filter(([status]) => status.startsWith('2'))
      .map(([, response]) => response)
  )
  const constants = schemasOf(messages).map((name) => {
    const expression = jsonExpression(name, propertiesOf(apiDocument, name))

    return `
/** Writes a row as the JSON of the schema ${name}. */
export const ${constantOf(name)}Json = new RowJson<Schemas['${name}']>(
  \`${expression}\`
)
`
  })

  return fileOf('import { RowJson }', root, constants)
}

/** generated/columns.ts: for each schema of a request, its columns. */
export function bodyColumnsFile(apiDocument: Documented, root = '..'): string {
  const messages = operationsOf(apiDocument).flatMap(
    ({ requestBody }) => requestBody ?? []
  )
  const constants = schemasOf(messages).map(
    (name) => `
/** The columns that store the body ${name}. */
export const ${constantOf(name)}Columns: BodyColumn<Schemas['${name}']>[] = [
${propertiesOf(apiDocument, name).map(bodyColumn).join(',\n')}
]
`
  )

  return fileOf('import type { BodyColumn }', root, constants)
}

/** `NewCategory` as the start of a constant's name: `newCategory`. */
const constantOf = (schema: string) =>
  schema.charAt(0).toLowerCase() + schema.slice(1)

function fileOf(imports: string, root: string, constants: string[]): string {
  return `${header}${imports} from '${root}/src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']
${constants.join('')}`
}

function jsonExpression(schema: string, properties: Property[]): string {
  // The first property has no comma, so it must be present in each row.
  const first = properties.find(({ isRequired }) => isRequired)
  if (first === undefined) {
    throw new Error(
      `openapi.yaml: ${schema} must be an object with a required property`
    )
  }

  const others = properties.filter((property) => property !== first)
  const lines = [
    `'{"${first.name}":' || ${requiredValue(first)}`,
    ...others.map(laterProperty),
    `'}'`
  ]

  return lines.join('\n  || ')
}

function laterProperty(property: Property): string {
  const { name, isRequired } = property
  return isRequired
    ? `',"${name}":' || ${requiredValue(property)}`
    : `coalesce(',"${name}":' || ${jsonValue(property)}, '')`
}

function requiredValue(property: Property): string {
  const { path, schema } = property
  const ifNull = schema.nullable
    ? `'null'`
    : `raise_missing_property('${path}')`
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
  const { type, format } = schema
  const sqlType =
    sqlTypes[`${type} ${format}`] ?? sqlTypes[String(type)] ?? 'jsonb'
  rejectColumnOfCreates(path, column)
  const defaultValue =
    schema.default === undefined
      ? ''
      : `, default: ${JSON.stringify(schema.default)}`
  return `  { property: '${name}', column: '${column}', type: '${sqlType}'${defaultValue} }`
}

/** By the type of a property, or its type and format. Others are jsonb. */
const sqlTypes: Record<string, string> = {
  string: 'text',
  'string uuid': 'uuid',
  'string date': 'date',
  'string date-time': 'timestamptz',
  integer: 'integer',
  'integer int64': 'bigint',
  number: 'numeric',
  boolean: 'boolean'
}

/**
 * The properties of a schema of the document.
 *
 * @throws Error for what has no column
 */
function propertiesOf({ document }: Documented, name: string): Property[] {
  const schemas = document.components?.schemas as Record<string, Schema>
  const schemaOf = (schema?: Schema): Schema =>
    schema?.$ref === undefined
      ? { ...schema }
      : schemaOf(schemas[nameIn(schema.$ref)])
  const isJson = (schema: Schema): boolean => {
    const { type, oneOf = [] } = schemaOf(schema)
    return type === undefined
      ? oneOf.length > 0 && oneOf.every(isJson)
      : ['array', 'object'].includes(type)
  }
  const { properties = {}, required = [] } = schemaOf(schemas[name])

  return Object.entries(properties).map(([property, inner]) => {
    const path = `${name}.${property}`
    const schema = schemaOf(inner)
    if (!(String(schema.type) in sqlTypes || isJson(schema))) {
      throw new Error(
        `openapi.yaml: ${path} must have a type, or oneOf with objects only`
      )
    }

    return {
      path,
      name: property,
      column: columnOf(property),
      schema,
      isRequired: required.includes(property)
    }
  })
}

/** The name of the schema that a reference has. */
const nameIn = (reference: string) => String(reference.split('/').at(-1))

/** The names of the schemas that messages have, alone or in an array. */
function schemasOf(messages: Message[]): string[] {
  const names = messages.flatMap(({ content }) => {
    const schema = content?.['application/json'].schema ?? {}
    const { $ref } = schema.items ?? schema
    return $ref === undefined ? [] : nameIn($ref)
  })

  return [...new Set(names)].sort()
}
