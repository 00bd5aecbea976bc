// Writes these files, or the marked parts of them:
//
// - generated/, from openapi.yaml, samples/ and the statements of src/handlers
// - docs/configuration.md, from src/framework/variables.ts
// - the PrometheusRule, from deploy/observability/rules.yml
// - deploy/haproxy.cfg: the prefix of API keys
//
// With --check it writes nothing, and exits 1 when a file is missing or stale.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { OpenAPIV3 } from 'openapi-types'
import openapiTS, {
  astToString,
  type OpenAPI3,
  type SchemaObject
} from 'openapi-typescript'
import ts from 'typescript'
import {
  type ApiOperation,
  readApiDocument
} from '../src/framework/openapi/document.ts'
import { configurationPage } from './generate/configuration-docs.ts'
import {
  bodyColumnsFile,
  header,
  rowJsonFile
} from './generate/json-and-columns.ts'
import { haproxyConfig, namesFile, namesOf } from './generate/names.ts'
import { pagesFile } from './generate/pages.ts'
import { prometheusRule } from './generate/prometheus-rule.ts'
import { sampleProblems, samplesFile } from './generate/samples.ts'

process.chdir(path.resolve(import.meta.dirname, '..'))

const read = (name: string) => readFileSync(name, 'utf8')

/** Texts by the names of their files. */
type Files = Record<string, string>

/**
 * generated/types.ts: the types of the document, with an int64 as a bigint.
 *
 * @throws Error if the document is not valid OpenAPI
 */
async function typesFile(json: string): Promise<string> {
  const document = JSON.parse(json, requireDefaults) as OpenAPI3
  const ast = await openapiTS(document, { transform: int64AsBigint })
  return header + astToString(ast)
}

/** A handler never lacks a parameter with a default: validation adds it. */
function requireDefaults(_key: unknown, value: unknown): unknown {
  const parameter = value as OpenAPIV3.ParameterObject | null
  const { in: place, schema } = parameter ?? {}
  const hasDefault = place !== undefined && schema && 'default' in schema
  return hasDefault ? { ...parameter, required: true } : value
}

const bigintType = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)
const nullType = ts.factory.createLiteralTypeNode(ts.factory.createNull())

function int64AsBigint(schema: SchemaObject): ts.TypeNode | undefined {
  const types = [schema.type].flat()
  if (schema.format !== 'int64' || !types.includes('integer')) return undefined
  if (!schema.nullable && !types.includes('null')) return bigintType
  return ts.factory.createUnionTypeNode([bigintType, nullType])
}

/** An operationId as a key of an object. */
const keyOf = (id: string) => (/^\w+$/.test(id) ? id : `'${id}'`)

/** generated/operations.ts: the type of each handler. */
function operationsFile(operations: ApiOperation[], root: string): string {
  const member = ({ id, method, path: route }: ApiOperation) =>
    `  /** ${method} ${route} */\n  ${keyOf(id)}: Handler<operations['${id}']>\n`

  return `${header}import type { Handler } from '${root}/src/framework/openapi/handler.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export interface OperationHandlers {
${operations.map(member).join('')}}
`
}

/** generated/stubs.ts: what responds for each operation at first. */
function stubsFile(operations: ApiOperation[], root: string): string {
  const member = ({ id }: ApiOperation) => `  ${keyOf(id)}: notImplemented`

  return `${header}import { notImplemented } from '${root}/src/framework/openapi/not-implemented.ts'
import type { OperationHandlers } from './operations.ts'

/** Respond with 501 until src/handlers has the handler of the operation. */
export const stubs: OperationHandlers = {
${operations.map(member).join(',\n')}
}
`
}

/** The files of a document, in a folder. */
async function filesOf(file: string, folder: string): Promise<Files> {
  const root = path.relative(folder, '.')
  const apiDocument = readApiDocument(file)
  const { json, operations } = apiDocument

  return {
    [`${folder}/types.ts`]: await typesFile(json),
    [`${folder}/operations.ts`]: operationsFile(operations, root),
    [`${folder}/stubs.ts`]: stubsFile(operations, root),
    [`${folder}/json.ts`]: rowJsonFile(apiDocument, root),
    [`${folder}/columns.ts`]: bodyColumnsFile(apiDocument, root),
    [`${folder}/pages.ts`]: pagesFile(apiDocument, root)
  }
}

const notes = 'test/support/notes'

/** The files that do not depend on src/handlers. */
async function generate(): Promise<Files> {
  const ofDocuments = {
    ...(await filesOf('openapi.yaml', 'generated')),
    ...(await filesOf(`${notes}/openapi.yaml`, `${notes}/generated`))
  }
  const apiDocument = readApiDocument('openapi.yaml')
  const { name } = JSON.parse(read('package.json')) as { name: string }
  const names = namesOf(apiDocument, name)

  return {
    ...ofDocuments,
    'generated/samples.json': samplesFile(
      'samples',
      idsOf(apiDocument.operations)
    ),
    'generated/names.ts': namesFile(names),
    'deploy/haproxy.cfg': haproxyConfig(read('deploy/haproxy.cfg'), names),
    'deploy/kubernetes/monitoring/rules.yaml': prometheusRule(
      read('deploy/observability/rules.yml')
    ),
    'docs/configuration.md': await configurationPage(
      read('docs/configuration.md')
    )
  }
}

const idsOf = (operations: ApiOperation[]) => operations.map(({ id }) => id)

function report(problem: string): void {
  console.error(problem)
  process.exitCode = 1
}

const isCheck = process.argv.includes('--check')

/** Writes the files, or reports those that would be written or change. */
function finish(files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    if (!isCheck) writeFileSync(name, text)
    else if (!existsSync(name) || read(name) !== text)
      report(`${name} is stale: run npm run generate and commit it`)
  }
}

try {
  finish(await generate())
  // These load src/handlers, which imports the files above.
  const { statementsFile } = await import('./generate/statements.ts')
  finish({ 'generated/statements.sql': statementsFile() })

  if (isCheck) {
    const { operations } = readApiDocument('openapi.yaml')
    sampleProblems('samples', idsOf(operations)).forEach(report)
    const { undocumentedMetrics } = await import('./generate/metrics.ts')
    for (const { name, help } of undocumentedMetrics(read('docs/metrics.md')))
      report(`docs/metrics.md needs this row: ${name}, which means: ${help}`)
  }
} catch (error) {
  report(String(error))
}
