// The names of this API: where they are used, they come from openapi.yaml and
// package.json.
import type { ApiDocument } from '../../src/framework/openapi/document.ts'

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

/** deploy/haproxy.cfg with the prefix in its patterns of API keys. */
export const haproxyConfig = (
  current: string,
  { apiKeyPrefix }: Names
): string => current.replaceAll(/[a-z]+_(?=\[0-9a-f\])/g, apiKeyPrefix)
