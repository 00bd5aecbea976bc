// The table of the errors of single operations in docs/clients.md.
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { tableOf, withSection } from './markdown.ts'
import { operationsOf } from './openapi.ts'

/** What an example of an error has, if it is an Error body. */
interface ErrorBody {
  code?: string
  message?: string
}

/** A row of the other table, which people write. */
const writtenRow = /^\| (\d{3}) +\| `(\w+)` /gm

/**
 * The guide with the URL of the first server, and with each 4xx of an operation
 * of openapi.yaml that it does not explain already, with the message of its
 * first example.
 */
export function guideWith(
  apiDocument: ApiDocument,
  guide: string
): Promise<string> {
  const written = [...guide.matchAll(writtenRow)]
  const explained = written.map(([, status, code]) => `${status} ${code}`)
  const rows = operationsOf(apiDocument).flatMap(({ request, responses }) => {
    const shown = new Set(explained)

    return responses
      .filter(([status]) => status.startsWith('4'))
      .flatMap(([status, { content }]) =>
        Object.values(content?.['application/json']?.examples ?? {}).flatMap(
          ({ value }) => {
            const { code, message } = { ...(value as ErrorBody | undefined) }
            const name = `${status} ${code}`
            if (message === undefined || shown.has(name)) return []
            shown.add(name)
            return [[`\`${request}\``, status, `\`${code}\``, asText(message)]]
          }
        )
      )
  })

  const head = ['request', 'status', '`code`', '`message`, for example']
  const text = rows.length === 0 ? 'No operation has one.' : tableOf(head, rows)
  const urls = apiDocument.servers.map(({ url }) => url)
  const url = urls.find((one) => URL.canParse(one))
  const named = guide.replace(/(?<=^export BASE_URL=).*/m, String(url))
  return withSection(named, 'errors of operations', text)
}

/** Text that Markdown would read as markup, as it stands. */
const asText = (text: string) => text.replaceAll(/[\\`*_[\]<>|&~]/g, '\\$&')
