// Writes generated/ from openapi.yaml, and .env.example and the table in README.md from the schema of the configuration.
// With --check it writes nothing and exits 1 when a file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { OpenAPIV3 } from 'openapi-types'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { format } from 'prettier'
import ts from 'typescript'
import { parseDocument } from 'yaml'
import { configSchema } from '../src/config.ts'
import { type Operation, readApiDocument } from '../src/openapi/document.ts'
import { describeSchemaError } from '../src/openapi/validation-errors.ts'

const header =
  '// Generated from openapi.yaml by `npm run generate`. Do not edit.\n\n'

/** The first fault in openapi.yaml, by the validator that fastify-openapi-glue also runs. */
async function findFault(): Promise<string | undefined> {
  const yaml = parseDocument(
    readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8')
  )
  // The other lines of the message are an excerpt of the file.
  if (yaml.errors[0] !== undefined) return yaml.errors[0].message.split('\n')[0]
  const { errors } = await new Validator({ verbose: true }).validate({
    ...(yaml.toJS() as object)
  })
  if (errors === undefined || typeof errors === 'string') return errors
  // Each alternative of a oneOf reports errors. The deepest error is the nearest to the fault.
  const [error] = errors.sort(
    (a, b) =>
      b.instancePath.split('/').length - a.instancePath.split('/').length
  )
  return error && describeSchemaError({ ...error, parentSchema: {} }, '')
}

/** The types of the document, in which an int64 is a bigint, and a parameter with a default is never left out. */
async function types(json: string): Promise<string> {
  const document = JSON.parse(
    json,
    (_key, value: OpenAPIV3.ParameterObject | null) =>
      value?.in !== undefined && value.schema && 'default' in value.schema
        ? { ...value, required: true }
        : value
  ) as OpenAPI3
  const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)
  const nullable = ts.factory.createUnionTypeNode([
    bigint,
    ts.factory.createLiteralTypeNode(ts.factory.createNull())
  ])
  const ast = await openapiTS(document, {
    transform: ({ type, format, nullable: isNullable }) =>
      type === 'integer' && format === 'int64'
        ? isNullable
          ? nullable
          : bigint
        : undefined
  })
  return header + astToString(ast)
}

function handlers(operations: Operation[]): string {
  const member = ({ id, method, path }: Operation) =>
    `  /** ${method} ${path} */\n  ${id}: Handler<operations['${id}']>\n`
  const stub = ({ id }: Operation) => `  ${id}: notImplemented('${id}'),\n`
  return `${header}import type { Handler } from '../src/openapi/handler.ts'
import { notImplemented } from '../src/openapi/handler.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export interface Operations {
${operations.map(member).join('')}}

/** A handler of each operation that responds with 501, until it is implemented. */
export const stubs: Operations = {
${operations.map(stub).join('')}}
`
}

/** Name, default and meaning of each variable. */
const variables = Object.entries<{
  default?: string | number | boolean
  description: string
  enum?: readonly string[]
}>(configSchema.properties).map(
  ([name, { default: value = '', description, enum: values }]) => ({
    name,
    value: String(value),
    meaning:
      values === undefined
        ? description
        : `${description}: ${values.join(', ')}`
  })
)

function envExample(): string {
  const head =
    '# Copy to .env and uncomment what you change. Times are in milliseconds, sizes in bytes.\n' +
    '# Generated from src/config.ts by `npm run generate`. Do not edit.\n'
  return (
    head +
    variables
      .map(({ name, value, meaning }) => `\n# ${meaning}\n# ${name}=${value}\n`)
      .join('')
  )
}

/** README.md with the table of the configuration between its two comments. */
async function readme(): Promise<string> {
  const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const between =
    /(?<=<!-- begin: configuration.*\n\n)[^]*(?=<!-- end: configuration -->)/
  if (!between.test(text))
    throw new Error(
      'README.md: the comments around the table of the configuration are missing'
    )
  const rows = variables.map(
    ({ name, value, meaning }) =>
      `| \`${name}\` | ${value && `\`${value}\``} | ${meaning} |\n`
  )
  const table = await format(
    `| Variable | Default | Meaning |\n| - | - | - |\n${rows.join('')}`,
    {
      parser: 'markdown'
    }
  )
  return text.replace(between, () => `${table}\n`)
}

async function generate(): Promise<Record<string, string>> {
  const fault = await findFault()
  if (fault !== undefined) throw new Error(`openapi.yaml: ${fault}`)
  const { json, operations } = readApiDocument()
  return {
    'generated/types.ts': await types(json),
    'generated/operations.ts': handlers(operations),
    '.env.example': envExample(),
    'README.md': await readme()
  }
}

const check = process.argv.includes('--check')
const files = await generate().catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})
for (const [name, text] of Object.entries(files)) {
  const file = new URL(`../${name}`, import.meta.url)
  if (!check) writeFileSync(file, text)
  else if (readIfAny(file) !== text) {
    console.error(`${name} is stale: run npm run generate and commit it`)
    process.exitCode = 1
  }
}

function readIfAny(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
