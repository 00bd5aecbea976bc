// Writes these files, or the marked parts of them:
//
// - generated/, from openapi.yaml, samples/ and the statements of src/handlers
// - generated/guide.html, from docs/clients.md
// - README.md: the operations, from openapi.yaml
// - docs/clients.md: the errors of single operations, from openapi.yaml
// - samples/, from openapi.yaml: only those that are missing
// - .env.example and docs/configuration.md, from
// src/framework/config/variables.ts
// - docs/metrics.md, from the metrics of src/
// - the PrometheusRule, from deploy/observability/rules.yml
// - deploy/haproxy.cfg: the lines that recognize API keys
//
// With --check it writes nothing, and exits 1 when a file is missing or stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { OpenAPIV3 } from 'openapi-types'
import openapiTS, {
  astToString,
  type OpenAPI3,
  type SchemaObject
} from 'openapi-typescript'
import ts from 'typescript'
import { parseDocument } from 'yaml'
import {
  type ApiDocument,
  type Operation,
  readApiDocument
} from '../src/framework/openapi/document.ts'
import { describeSchemaError } from '../src/framework/openapi/validation-errors.ts'
import { configurationPage, envExample } from './generate/configuration-docs.ts'
import { guideHtml, guideSource } from './generate/guide.ts'
import { haproxyConfig, namesFile, namesOf } from './generate/names.ts'
import { guideWith } from './generate/operation-errors.ts'
import { readmeWith } from './generate/readme.ts'
import { Samples } from './generate/samples.ts'
import {
  bodyColumnsFile,
  header,
  rowJsonFile
} from './generate/json-and-columns.ts'
import { prometheusRule } from './generate/prometheus-rule.ts'

/** What would become TypeScript that does not compile, or wrong types. */
function findUnusable({ document, operations }: ApiDocument) {
  if (!document.openapi.startsWith('3.0.')) {
    return (
      `openapi ${document.openapi} is not supported: write openapi: 3.0.3, ` +
      'and follow OpenAPI 3.0, as in nullable: true'
    )
  }

  const faulty = operations.find(({ id }) => !/^[a-z][A-Za-z0-9]*$/.test(id))

  return (
    faulty &&
    `write the operationId ${faulty.id} in camelCase, such as listCategories`
  )
}

const urlOf = (name: string) => new URL(`../${name}`, import.meta.url)

const samples = new Samples(fileURLToPath(urlOf('samples')))

/** The first fault in openapi.yaml; undefined if there is none. */
async function findFault(): Promise<string | undefined> {
  const yaml = parseDocument(read('openapi.yaml'))
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
function operationsFile(operations: Operation[], root: string): string {
  const member = ({ id, method, path }: Operation) =>
    `  /** ${method} ${path} */\n  ${id}: Handler<operations['${id}']>\n`
  const stub = ({ id }: Operation) => `  ${id}: notImplemented('${id}'),\n`

  return `${header}import type { Handler } from '${root}/src/framework/openapi/handler.ts'
import { notImplemented } from '${root}/src/framework/openapi/handler.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export interface Operations {
${operations.map(member).join('')}}

/** Handlers that respond with 501, until their operations are implemented. */
export const stubs: Operations = {
${operations.map(stub).join('')}}
`
}

/**
 * The files of a document, by their names.
 *
 * @param root the folder of the service, from the folder of the files
 */
async function filesOf(
  { document, json, operations }: ApiDocument,
  folder: string,
  root: string
): Promise<Record<string, string>> {
  return {
    [`${folder}/types.ts`]: await typesFile(json),
    [`${folder}/operations.ts`]: operationsFile(operations, root),
    [`${folder}/json.ts`]: rowJsonFile(document, root),
    [`${folder}/columns.ts`]: bodyColumnsFile(document, root)
  }
}

/** These files, by their paths in the repository. */
function inFolder(folder: string, files: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text])
  )
}

/** The text of each file, by its name. */
async function generate(): Promise<Record<string, string>> {
  const file = urlOf('openapi.yaml')
  const fault = (await findFault()) ?? findUnusable(readApiDocument(file))
  if (fault !== undefined) throw new Error(`openapi.yaml: ${fault}`)

  const apiDocument = readApiDocument(file)
  const notes = readApiDocument(urlOf('test/support/notes/openapi.yaml'))
  const packageJson = JSON.parse(read('package.json')) as { name: string }
  const names = namesOf(apiDocument.document, packageJson)
  const guide = await guideWith(apiDocument, read(guideSource))
  const newSamples = await samples.addMissing(apiDocument)

  return {
    ...inFolder('samples', newSamples),
    ...(await filesOf(apiDocument, 'generated', '..')),
    'generated/samples.json': samples.file(apiDocument.operations),
    ...(await filesOf(notes, 'test/support/notes/generated', '../../../..')),
    'generated/names.ts': namesFile(names, apiDocument.digest),
    [guideSource]: guide,
    'generated/guide.html': guideHtml(guide, read),
    'deploy/haproxy.cfg': haproxyConfig(read('deploy/haproxy.cfg'), names),
    'deploy/kubernetes/monitoring/rules.yaml': await prometheusRule(
      read('deploy/observability/rules.yml')
    ),
    '.env.example': envExample(),
    'docs/configuration.md': await configurationPage(),
    'README.md': await readmeWith(apiDocument, read('README.md'))
  }
}

/**
 * The files that need src/handlers, which imports the files above. So it is
 * loaded after they are written.
 */
async function generateFromResources(): Promise<Record<string, string>> {
  const statements = 'generated/statements.sql'
  const metrics = 'docs/metrics.md'

  try {
    const { statementsFile } = await import('./generate/statements.ts')
    const { metricsPage } = await import('./generate/metrics-page.ts')
    return { [statements]: statementsFile(), [metrics]: await metricsPage() }
  } catch (cause) {
    const files = `${statements} and ${metrics}`
    throw new Error(`src/handlers cannot be loaded for ${files}`, { cause })
  }
}

const read = (name: string) => readFileSync(urlOf(name), 'utf8')

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files))
    writeFileSync(urlOf(name), text)
}

/** Reports the files that would be written or change. */
function check(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const present = readIfAny(urlOf(name))
    if (present === text) continue

    const state = present === undefined ? 'missing' : 'stale'
    console.error(`${name} is ${state}: run npm run generate and commit it`)
    process.exitCode = 1
  }
}

/** Reports what is wrong with the files in samples/. */
function checkSamples(): void {
  const { operations } = readApiDocument(urlOf('openapi.yaml'))

  for (const problem of samples.problems(operations)) {
    console.error(problem)
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

/** The message of an error, and those of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause === undefined) return error.message
  return `${error.message}: ${describe(error.cause)}`
}

const isCheck = process.argv.includes('--check')
const finish = isCheck ? check : write

try {
  finish(await generate())
  finish(await generateFromResources())
  if (isCheck) checkSamples()
} catch (error) {
  console.error(describe(error))
  process.exitCode = 1
}
