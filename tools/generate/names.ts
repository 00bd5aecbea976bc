// The names of this API: where they are used, they come from openapi.yaml and
// package.json.
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { apiKeyPattern, shownDigits } from '../../src/framework/keys/key.ts'

type Names = ReturnType<typeof namesOf>

/**
 * The names in openapi.yaml and package.json.
 *
 * @param service the `name` of package.json
 */
export function namesOf({ document }: ApiDocument, service: string) {
  const scheme: Record<string, unknown> = {
    ...document.components?.securitySchemes?.['bearerAuth']
  }

  return {
    service,
    apiKeyPrefix: String(scheme['x-key-prefix']),
    realm: String(scheme['x-realm'])
  }
}

/** generated/names.ts: the names as constants, for src/handlers. */
export function namesFile({ service, apiKeyPrefix, realm }: Names): string {
  return `// Generated from openapi.yaml and package.json by \`npm run generate\`. Do not
// edit.

/** The name of the service, on the command line and in PostgreSQL. */
export const serviceName = '${service}'

/** What every API key begins with. */
export const apiKeyPrefix = '${apiKeyPrefix}'

/** The realm of the challenge in a 401 or 403 (RFC 6750, section 3). */
export const realm = '${realm}'
`
}

/**
 * deploy/haproxy.cfg with the lines that recognize API keys.
 *
 * @throws Error when it lacks one of these lines
 */
export function haproxyConfig(
  current: string,
  { apiKeyPrefix }: Names
): string {
  const regsub = `regsub("${apiKeyPattern(apiKeyPrefix)}","\\1***",gi)`
  const shownLength = apiKeyPrefix.length + shownDigits
  const shown = `${apiKeyPrefix}[0-9a-f]{${shownDigits}}`

  const restOfLines = {
    'acl request_id_with_key': `req.fhdr(X-Request-Id) -m reg -i ${apiKeyPrefix}[0-9a-f]{9}`,
    'http-request set-var(txn.path)': `path,'${regsub}'`,
    'http-request set-var(txn.api_key_prefix)': `var(txn.token),bytes(0,${shownLength}) if { var(txn.token) -m reg ^${shown} }`
  }

  return Object.entries(restOfLines).reduce(
    (text, [start, rest]) => replaceLine(text, `  ${start} `, rest),
    current
  )
}

/** Replaces the rest of the line that has this start. */
function replaceLine(text: string, start: string, rest: string): string {
  const lines = text.split('\n')
  const index = lines.findIndex((line) => line.startsWith(start))
  if (index < 0) throw new Error(`deploy/haproxy.cfg lacks: ${start.trim()}`)
  return lines.with(index, start + rest).join('\n')
}
