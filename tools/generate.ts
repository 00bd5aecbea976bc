// Writes generated/ from openapi.yaml, the same for the API of the framework's
// tests, .env.example and docs/configuration.md from src/config/variables.ts,
// and the lines of deploy/haproxy.cfg that recognize API keys. With --check it
// writes nothing, and exits 1 when a file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { OpenAPIV3 } from 'openapi-types'
import openapiTS, {
  astToString,
  type OpenAPI3,
  type SchemaObject
} from 'openapi-typescript'
import ts from 'typescript'
import { parseDocument } from 'yaml'
import { type Operation, readApiDocument } from '../src/openapi/document.ts'
import { describeSchemaError } from '../src/openapi/validation-errors.ts'
import { configurationPage, envExample } from './configuration.ts'
import { haproxyConfig, namesFile, namesOf } from './generate-names.ts'
import { bodyColumnsFile, rowJsonFile } from './generate-sql.ts'

const header =
  '// Generated from openapi.yaml by `npm run generate`. Do not edit.\n\n'

/** The first fault in an OpenAPI document; undefined if there is none. */
async function findFault(file: URL): Promise<string | undefined> {
  const yaml = parseDocument(readFileSync(file, 'utf8'))
  const [syntaxError] = yaml.errors

  // The other lines of the message are an excerpt of the file.
  if (syntaxError !== undefined) return syntaxError.message.split('\n')[0]

  // The validator that fastify-openapi-glue also runs.
  const validator = new Validator({ verbose: true })
  const { errors } = await validator.validate({ ...(yaml.toJS() as object) })

  if (errors === undefined || typeof errors === 'string') return errors

  // Each alternative of a oneOf reports errors. The deepest error is the
  // nearest to the fault.
  const depth = (error: { instancePath: string }) =>
    error.instancePath.split('/').length
  const [deepest] = errors.sort((a, b) => depth(b) - depth(a))

  return deepest && describeSchemaError({ ...deepest, parentSchema: {} }, '')
}

/** generated/types.ts: the types of the document, with an int64 as a bigint. */
async function typesFile(json: string): Promise<string> {
  const document = JSON.parse(json, requireDefaults) as OpenAPI3
  const ast = await openapiTS(document, { transform: int64AsBigint })

  return header + astToString(ast)
}

/** A handler never lacks a parameter with a default: validation adds it. */
function requireDefaults(
  _key: string,
  value: OpenAPIV3.ParameterObject | null
): unknown {
  const hasDefault =
    value?.in !== undefined && value.schema && 'default' in value.schema

  return hasDefault ? { ...value, required: true } : value
}

const bigintType = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)
const nullType = ts.factory.createLiteralTypeNode(ts.factory.createNull())

function int64AsBigint(schema: SchemaObject): ts.TypeNode | undefined {
  const isInt64 = schema.type === 'integer' && schema.format === 'int64'

  if (!isInt64) return undefined
  if (!schema.nullable) return bigintType

  return ts.factory.createUnionTypeNode([bigintType, nullType])
}

/** generated/operations.ts: the type and a stub of each handler. */
function operationsFile(operations: Operation[]): string {
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

/**
 * The text of each file of an API, by its name.
 *
 * @param folder of openapi.yaml: that of the repository, or one inside of it
 *   with a slash at the end
 */
async function generateApi(
  folder: '' | `${string}/`
): Promise<Record<string, string>> {
  const openapi = urlOf(`${folder}openapi.yaml`)
  const fault = await findFault(openapi)

  if (fault !== undefined) throw new Error(`${folder}openapi.yaml: ${fault}`)

  const { document, json, operations } = readApiDocument(openapi)
  const files = {
    'types.ts': await typesFile(json),
    'operations.ts': operationsFile(operations),
    'json.ts': rowJsonFile(document),
    'columns.ts': bodyColumnsFile(document)
  }
  const toRoot = '../'.repeat(folder.split('/').length)

  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [
      `${folder}generated/${name}`,
      text.replaceAll(`'../src/`, `'${toRoot}src/`)
    ])
  )
}

/** The text of each file, by its name. */
async function generate(): Promise<Record<string, string>> {
  const api = await generateApi('')
  const { document } = readApiDocument()
  const packageJson = JSON.parse(read('package.json')) as { name: string }
  const names = namesOf(document, packageJson)

  return {
    ...api,
    ...(await generateApi('test/support/notes/')),
    'generated/names.ts': namesFile(names),
    'deploy/haproxy.cfg': haproxyConfig(read('deploy/haproxy.cfg'), names),
    '.env.example': envExample(),
    'docs/configuration.md': await configurationPage()
  }
}

const urlOf = (name: string) => new URL(`../${name}`, import.meta.url)

const read = (name: string) => readFileSync(urlOf(name), 'utf8')

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files))
    writeFileSync(urlOf(name), text)
}

/** Reports the files whose text would change. */
function check(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    if (readIfAny(urlOf(name)) === text) continue

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

try {
  const files = await generate()

  if (process.argv.includes('--check')) check(files)
  else write(files)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
