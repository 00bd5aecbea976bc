import type { Api } from './api.ts'
import { apiKeyPrivileges } from './keys/store.ts'
import { idempotencyKeyRemovalPrivileges } from './creates/expired-idempotency-keys.ts'
import { insertPrivileges } from './creates/insert.ts'
import { insertOncePrivileges } from './creates/insert-once.ts'
import { rowJsonPrivileges } from './openapi/json.ts'
import { readMigrations, type DatabaseSchema } from './postgres/migrate.ts'
import { joinPrivileges } from './postgres/privileges.ts'

const frameworkMigrations = new URL(
  '../../migrations/framework/',
  import.meta.url
)

/**
 * The tables of the framework and of an API, and the privileges that
 * DATABASE_SERVICE_ROLE gets on them. Each privilege stands beside the SQL that
 * needs it.
 */
export function schemaOf(
  api: Pick<Api, 'migrations' | 'privileges'>
): DatabaseSchema {
  return {
    migrations: [
      ...readMigrations(frameworkMigrations),
      ...readMigrations(api.migrations)
    ],
    privileges: joinPrivileges([
      apiKeyPrivileges,
      rowJsonPrivileges,
      insertPrivileges,
      insertOncePrivileges,
      idempotencyKeyRemovalPrivileges,
      api.privileges
    ])
  }
}
