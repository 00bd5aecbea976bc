import { keyPrivileges } from './api-keys/store.ts'
import { insertPrivileges } from './creates/insert.ts'
import { insertOncePrivileges } from './creates/insert-once.ts'
import { removalPrivileges } from './creates/remove-old-records.ts'
import { changePrivileges } from './lists/change-check.ts'
import { rowJsonPrivileges } from './openapi/json.ts'
import { categoryPrivileges } from './resources/categories.ts'
import { messagePrivileges } from './resources/messages.ts'
import { orderPrivileges } from './resources/orders.ts'
import { petPrivileges } from './resources/pets.ts'

/**
 * The privileges that DATABASE_SERVICE_ROLE gets after the migrations, by
 * table, sequence or function. Each stands beside the SQL that needs it.
 */
export const privileges = gathered([
  keyPrivileges,
  changePrivileges,
  rowJsonPrivileges,
  insertPrivileges,
  insertOncePrivileges,
  removalPrivileges,
  categoryPrivileges,
  messagePrivileges,
  orderPrivileges,
  petPrivileges
])

/** Joins the privileges on an object that several statements need. */
function gathered(parts: Record<string, string>[]): Record<string, string> {
  const all: Record<string, string> = {}

  for (const [object, needed] of parts.flatMap(Object.entries<string>)) {
    const others = all[object]

    all[object] = others === undefined ? needed : `${others}, ${needed}`
  }

  return all
}
