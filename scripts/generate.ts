// Writes generated/ from openapi.yaml. With --check it writes nothing and exits 1 when a file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'
import { readContract, type Operation } from '../src/contract.ts'

const header = '// Generated from openapi.yaml by `npm run generate`. Do not edit.\n\n'

/** The types of the document; int64 as `number`, as a JSON client has it, or as `bigint`, as the service keeps it. */
async function types(document: OpenAPIV3.Document, int64: 'number' | 'bigint'): Promise<string> {
  const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)
  const nullable = ts.factory.createUnionTypeNode([bigint, ts.factory.createLiteralTypeNode(ts.factory.createNull())])
  const ast = await openapiTS(document as OpenAPI3, {
    transform: (schema) => {
      if (int64 === 'number' || schema.type !== 'integer' || schema.format !== 'int64') return undefined
      return schema.nullable ? nullable : bigint
    }
  })
  return header + astToString(ast)
}

function handlers(operations: Operation[]): string {
  const member = ({ id, method, path }: Operation) =>
    `  /** ${method} ${path} */\n  ${id}: Handler<operations['${id}']>\n`
  const stub = ({ id }: Operation) => `  ${id}: notImplemented('${id}'),\n`
  return `${header}import type { Handler } from '../src/http/handler.ts'
import { notImplemented } from '../src/http/errors.ts'
import type { operations } from './service.ts'

/** The handler of each operation, by operationId. */
export interface Operations {
${operations.map(member).join('')}}

/** A handler of each operation that answers 501 until one of ours takes its place. */
export const stubs: Operations = {
${operations.map(stub).join('')}}
`
}

async function generate(): Promise<Record<string, string>> {
  const { document, operations } = readContract()
  return {
    'generated/client.ts': await types(document, 'number'),
    'generated/service.ts': await types(document, 'bigint'),
    'generated/operations.ts': handlers(operations)
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
