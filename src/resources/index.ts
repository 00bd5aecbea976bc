import { type Operations, stubs } from '../../generated/operations.ts'
import type { Config } from '../config.ts'
import { changePrivileges } from '../postgres/changes.ts'
import type { Database } from '../postgres/database.ts'
import { keyPrivileges } from '../api-keys/store.ts'
import { createPrivileges } from '../creates/idempotency-key.ts'
import { responseMemory } from '../lists/response-memory.ts'
import { categoryHandlers, categoryPrivileges } from './categories.ts'
import { messageHandlers, messagePrivileges } from './messages.ts'
import { orderHandlers, orderPrivileges } from './orders.ts'
import { petHandlers, petPrivileges } from './pets.ts'

/** The privileges of the service's database role, by table, sequence or function. */
export const privileges = {
  ...keyPrivileges,
  ...changePrivileges,
  ...createPrivileges,
  ...categoryPrivileges,
  ...messagePrivileges,
  ...orderPrivileges,
  ...petPrivileges
}

/** The handler of every operation; an operation without one has its generated stub. */
export function operationHandlers(
  database: Database,
  config: Config
): Operations {
  const memory = responseMemory(
    config.MAX_RESPONSE_BYTES,
    config.RESPONSE_TIMEOUT_MS
  )
  return {
    ...stubs,
    ...categoryHandlers(database, memory),
    ...messageHandlers(database),
    ...orderHandlers(database, memory),
    ...petHandlers(database, memory)
  }
}
