// generated/pages.ts: what openapi.yaml says of the pages of an operation.
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { header } from './json-and-columns.ts'
import { operationsOf } from './openapi.ts'

/** The type of a column by the format of `after`, the id of one of its rows. */
const idTypes: Record<string, string> = { int64: 'bigint', uuid: 'uuid' }

/**
 * A constant for each operation with the parameters `limit` and `after`. It
 * does not compile if `after` is no id, or `limit` has no maximum.
 */
export function pagesFile(
  apiDocument: Pick<ApiDocument, 'document'>,
  root = '..'
): string {
  const constants = operationsOf(apiDocument).flatMap(
    ({ operationId, parameters = [] }) => {
      const schemaOf = (name: string) =>
        parameters.find((one) => one.in === 'query' && one.name === name)
          ?.schema
      const [after, limit] = [schemaOf('after'), schemaOf('limit')]
      if (after === undefined || limit === undefined) return []

      return `
/** The pages of ${operationId}. */
export const ${operationId}Page: DocumentedPage = {
  idType: '${idTypes[String(after.format)]}',
  maxSize: ${limit.maximum}
}
`
    }
  )

  return `${header}import type { DocumentedPage } from '${root}/src/framework/openapi/json.ts'
${constants.join('')}`
}
