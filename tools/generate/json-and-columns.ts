// SQL from the schemas of the OpenAPI document: how a row becomes the JSON of a
// response, and how the body of a request becomes a row. A property
// `categoryId` has the column `category_id`.
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { columnOf, isColumnOfCreates } from './column-names.ts'
import {
  type Message,
  operationsOf,
  type Schema,
  schemasPath,
  targetOf
} from './openapi.ts'

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

/** generated/json.ts: for each row of a response, its JSON. */
export function rowJsonFile(apiDocument: Documented, root = '..'): string {
  const messages = operationsOf(apiDocument).flatMap(({ responses }) =>
    responses
      .filter(([status]) => status.startsWith('2'))
      .map(([, response]) => response)
  )
  const constants = schemasOf(messages).map((name) => {
    const properties = propertiesOf(apiDocument, name)
    // The first property has no comma, so it must be present in each row.
    const first = properties.find(({ isRequired }) => isRequired)
    if (first === undefined)
      return `\n// ${name} is not a row, because it is not an object with a required property.\n`

    const expression = jsonExpression(first, properties)

    return `
/** Writes a row as the JSON of the schema ${name}. */
export const ${constantOf(name)}Json = new RowJson<Schemas['${name}']>(
  \`${expression.replaceAll(/[\\`$]/g, '\\$&')}\`
)
`
  })

  return fileOf('import { RowJson }', root, constants)
}

/** generated/columns.ts: for each row that a request has, its columns. */
export function bodyColumnsFile(apiDocument: Documented, root = '..'): string {
  const messages = operationsOf(apiDocument).flatMap(
    ({ requestBody }) => requestBody ?? []
  )
  const constants = schemasOf(messages).map((name) => {
    const properties = propertiesOf(apiDocument, name)
    const reserved = properties.find(isColumnOfCreates)
    if (reserved !== undefined)
      return `\n// ${name} has no columns, because creates use ${reserved.column} for themselves.\n`
    if (properties.length === 0)
      return `\n// ${name} has no columns, because it is not an object with properties.\n`

    return `
/** The columns that store the body ${name}. */
export const ${constantOf(name)}Columns: BodyColumn<Schemas['${name}']>[] = [
${properties.map(bodyColumn).join(',\n')}
]
`
  })

  return fileOf('import type { BodyColumn }', root, constants)
}

/** `NewCategory` as the start of a constant's name: `newCategory`. */
const constantOf = (schema: string) =>
  (schema.charAt(0).toLowerCase() + schema.slice(1)).replaceAll(/^\d|\W/g, '_')

function fileOf(imports: string, root: string, constants: string[]): string {
  return `${header}${imports} from '${root}/src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']
${constants.join('')}`
}

function jsonExpression(first: Property, properties: Property[]): string {
  const others = properties.filter((property) => property !== first)
  const lines = [
    `${sqlText(`{${keyOf(first)}`)} || ${requiredValue(first)}`,
    ...others.map(laterProperty),
    `'}'`
  ]

  return lines.join('\n  || ')
}

const textOf = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`

const keyOf = ({ name }: Property) => `${JSON.stringify(name)}:`

const sqlText = (text: string) => `'${text.replaceAll("'", "''")}'`

function laterProperty(property: Property): string {
  const key = sqlText(`,${keyOf(property)}`)
  return property.isRequired
    ? `${key} || ${requiredValue(property)}`
    : `coalesce(${key} || ${jsonValue(property)}, '')`
}

function requiredValue(property: Property): string {
  const { path, schema } = property
  const ifNull = schema.nullable
    ? `'null'`
    : `raise_missing_property(${sqlText(path)})`
  return `coalesce(${jsonValue(property)}, ${ifNull})`
}

/** An SQL expression for a column as JSON; NULL for a NULL. */
function jsonValue({ path, column, schema }: Property): string {
  const { type, format } = schema

  if (type === 'number')
    return `finite_number(${sqlText(path)}, ${column}::text)`

  if (format === 'date-time') return `'"' || ${isoTime(column)} || '"'`

  return literalTypes.includes(String(type))
    ? `${column}::text`
    : `to_json(${column})::text`
}

/** The types whose text in PostgreSQL is JSON: the last two are jsonb. */
const literalTypes = ['integer', 'boolean', 'array', 'object']

/** In UTC to the millisecond, whatever `datestyle` an operator has set. */
function isoTime(column: string): string {
  const format = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
  return `to_char(${column} AT TIME ZONE 'UTC', '${format}')`
}

function bodyColumn({ name, column, schema }: Property): string {
  const { type, format } = schema
  const sqlType =
    sqlTypes[`${type} ${format}`] ?? sqlTypes[String(type)] ?? 'jsonb'
  const defaultValue =
    schema.default === undefined
      ? ''
      : `, default: ${JSON.stringify(schema.default)}`
  return `  { property: ${textOf(name)}, column: ${textOf(column)}, type: '${sqlType}'${defaultValue} }`
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

/** The properties of a schema that is an object; none of another schema. */
function propertiesOf({ document }: Documented, name: string): Property[] {
  const schemaOf = (schema: Schema): Schema =>
    schema.$ref === undefined
      ? schema
      : schemaOf(targetOf(schema.$ref, document) as Schema)
  const schema = schemaOf({ $ref: `${schemasPath}${name}` })
  const { type = 'object', properties = {}, required = [] } = schema
  const isComposed = schema.allOf ?? schema.anyOf ?? schema.oneOf
  if (type !== 'object' || isComposed) return []

  return Object.entries(properties).map(([property, inner]) => ({
    path: `${name}.${property}`,
    name: property,
    column: columnOf(property),
    schema: schemaOf(inner),
    isRequired: required.includes(property)
  }))
}

/** The names of the schemas that messages have, alone or in an array. */
function schemasOf(messages: Message[]): string[] {
  const names = messages.flatMap(({ content }) => {
    const schema = content?.['application/json']?.schema ?? {}
    const { $ref = '' } = schema.items ?? schema
    const name = $ref.replace(schemasPath, '')
    return name === '' || name.includes('/') ? [] : name
  })

  return [...new Set(names)].sort()
}
