// Generated from openapi.yaml and package.json by `npm run generate`. Do not
// edit.

/** The name of the service, on the command line and in PostgreSQL. */
export const serviceName = 'pet-categories'

/** What every API key begins with. */
export const apiKeyPrefix = 'petcat_'

/** The realm of the challenge in a 401 or 403 (RFC 6750, section 3). */
export const realm = 'pet-categories'
