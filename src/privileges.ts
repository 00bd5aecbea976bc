import { keyPrivileges } from './api-keys/store.ts'
import { createPrivileges } from './creates/idempotency-key.ts'
import { changePrivileges } from './lists/change-check.ts'
import { categoryPrivileges } from './resources/categories.ts'
import { messagePrivileges } from './resources/messages.ts'
import { orderPrivileges } from './resources/orders.ts'
import { petPrivileges } from './resources/pets.ts'

/**
 * The privileges that DATABASE_SERVICE_ROLE gets after the migrations, by
 * table, sequence or function. Each stands beside the SQL that needs it.
 */
export const privileges: Record<string, string> = {
  ...keyPrivileges,
  ...changePrivileges,
  ...createPrivileges,
  ...categoryPrivileges,
  ...messagePrivileges,
  ...orderPrivileges,
  ...petPrivileges
}
