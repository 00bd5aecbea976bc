// The table of the operations in README.md.
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { tableOf, withSection } from './markdown.ts'
import { operationsOf } from './openapi.ts'

/** README.md with the operations of openapi.yaml. */
export function readmeWith(
  apiDocument: ApiDocument,
  readme: string
): Promise<string> {
  const rows = operationsOf(apiDocument).map((operation) => {
    const { request, summary = '', deprecated, responses } = operation
    const statuses = responses.map(([status]) => status)
    const successes = statuses.filter((status) => status.startsWith('2'))

    return [
      `\`${request.replace(' ', ` ${apiDocument.basePath}`)}\``,
      successes.join(', '),
      deprecated ? `${summary}; deprecated` : summary
    ]
  })

  const table = tableOf(['request', 'success', 'meaning'], rows)
  return withSection(readme, 'operations', table)
}
