// The table of the errors of single operations in docs/clients.md.
import type { OpenAPIV3 } from 'openapi-types'
import { format } from 'prettier'
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { operationAt, targetOf } from './openapi.ts'

interface ErrorBody {
  status: number
  code: string
  message: string
}

const section =
  /(<!-- errors of operations: .* -->\n)[^]*?(<!-- end of errors of operations -->)/

/** A row of the other table, which people write. */
const writtenRow = /^\| (\d{3}) +\| `(\w+)` /gm

/**
 * The guide with each 4xx of an operation of openapi.yaml that it does not
 * explain already.
 */
export async function guideWith(
  { operations, document }: ApiDocument,
  guide: string
): Promise<string> {
  const explained = explainedErrors(guide)

  const rows = operations.flatMap(({ method, path }) => {
    const operation = operationAt(document, method, path)
    return clientErrorsOf(operation, document.components)
      .filter((error) => !explained.has(nameOf(error)))
      .map((error) => rowOf(`${method} ${path}`, error))
  })
  const text =
    rows.length === 0 ? 'No operation has one.\n' : await tableOf(rows)

  return guide.replace(
    section,
    (_all, start: string, end: string) => `${start}\n${text}\n${end}`
  )
}

/** As in `404 not_found`. */
const nameOf = ({ status, code }: ErrorBody) => `${status} ${code}`

/** The names of the errors that have a row of their own in the guide. */
function explainedErrors(guide: string): Set<string> {
  const rows = [...guide.matchAll(writtenRow)]
  return new Set(rows.map(([, status, code]) => `${status} ${code}`))
}

/** The first example of each error with a 4xx. */
function clientErrorsOf(
  { responses = {} }: Partial<OpenAPIV3.OperationObject> = {},
  components: OpenAPIV3.ComponentsObject = {}
): ErrorBody[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('4'))
    .map(([, response]) => targetOf(response, components.responses))
    .flatMap((response) => examplesOf(response, components.examples))
    .filter(isErrorBody)
    .filter(isFirst)
}

/** The values of the examples of a response. */
function examplesOf(
  response: OpenAPIV3.ResponseObject | undefined,
  shared: OpenAPIV3.ComponentsObject['examples']
): unknown[] {
  const examples = response?.content?.['application/json']?.examples
  return Object.values(examples ?? {}).map(
    (example): unknown => targetOf(example, shared)?.value
  )
}

function isErrorBody(value: unknown): value is ErrorBody {
  return (
    typeof value === 'object' &&
    value !== null &&
    'status' in value &&
    'code' in value &&
    'message' in value &&
    typeof value.message === 'string'
  )
}

function isFirst(error: ErrorBody, index: number, errors: ErrorBody[]) {
  return index === errors.findIndex((other) => nameOf(other) === nameOf(error))
}

function rowOf(request: string, { status, code, message }: ErrorBody): string {
  const cells = [`\`${request}\``, status, `\`${code}\``, asMarkdown(message)]
  return `| ${cells.join(' | ')} |`
}

/** Text that Markdown would read as markup, as it stands. */
const asMarkdown = (text: string) => text.replaceAll(/[\\`*_[\]<>|&~]/g, '\\$&')

function tableOf(rows: string[]): Promise<string> {
  const head = [
    '| request | status | `code` | `message`, for example |',
    '| - | - | - | - |'
  ]

  return format([...head, ...rows].join('\n'), { parser: 'markdown' })
}
