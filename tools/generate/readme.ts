// The table of the operations in README.md.
import type { OpenAPIV3 } from 'openapi-types'
import { format, resolveConfig } from 'prettier'
import { type ApiDocument } from '../../src/framework/openapi/document.ts'
import { operationAt } from './openapi.ts'

const section = /(<!-- operations: .* -->\n)[^]*?(<!-- end of operations -->)/

/** README.md with the operations of openapi.yaml. */
export async function readmeWith(
  { operations, document, basePath }: ApiDocument,
  readme: string
): Promise<string> {
  const rows = operations.map(({ method, path }) => {
    const operation = operationAt(document, method, path)
    const cells = [
      `\`${method} ${basePath}${path}\``,
      successOf(operation),
      meaningOf(operation)
    ]

    return `| ${cells.join(' | ')} |`
  })
  const table = ['| request | success | meaning |', '| - | - | - |', ...rows]

  const text = readme.replace(
    section,
    (_all, start: string, end: string) =>
      `${start}\n${table.join('\n')}\n\n${end}`
  )

  // For the code in it.
  const config = await resolveConfig('README.md')

  return format(text, { ...config, parser: 'markdown' })
}

/** The statuses of a success, such as `200`. */
function successOf(operation: OpenAPIV3.OperationObject | undefined): string {
  const statuses = Object.keys(operation?.responses ?? {})
  return statuses.filter((status) => status.startsWith('2')).join(', ')
}

function meaningOf(operation: OpenAPIV3.OperationObject | undefined): string {
  const summary = operation?.summary ?? ''
  return operation?.deprecated ? `${summary}; deprecated` : summary
}
