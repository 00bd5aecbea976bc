import { type Operations, stubs } from '../../generated/operations.ts'
import { categoryHandlers } from './categories-handlers.ts'
import { categoryStore } from './categories-store.ts'
import type { Config } from '../config.ts'
import type { Database } from '../postgres/database.ts'
import { responseMemory } from '../sharing/response-memory.ts'
import { messageHandlers } from './messages-handlers.ts'
import { messageStore } from './messages-store.ts'

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
