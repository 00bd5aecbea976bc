import { type Operations, stubs } from '../../generated/operations.ts'
import { categoryHandlers } from './categories-handlers.ts'
import { categoryPrivileges, categoryStore } from './categories-store.ts'
import type { Config } from '../config.ts'
import type { Database } from '../postgres/database.ts'
import { keyPrivileges } from '../api-keys/store.ts'
import { responseMemory } from '../sharing/response-memory.ts'
import { messageHandlers } from './messages-handlers.ts'
import { messagePrivileges, messageStore } from './messages-store.ts'

/** What the database role of the service may do; `npm run migrate` grants it. */
export const privileges = { ...keyPrivileges, ...categoryPrivileges, ...messagePrivileges }

/** The handler of every operation of the document: ours, and the generated stub of each that we have none for. */
export function operationHandlers(
  database: Database,
  config: Pick<Config, 'RESPONSE_MEMORY' | 'ANSWER_TIMEOUT'>
): Operations {
  const memory = responseMemory({ limit: config.RESPONSE_MEMORY, timeout: config.ANSWER_TIMEOUT })
  return {
    ...stubs,
    ...categoryHandlers(categoryStore(database), memory),
    ...messageHandlers(messageStore(database))
  }
}
