import { type Operations, stubs } from '../../generated/operations.ts'
import type { Config } from '../config.ts'
import { ResponseMemory } from '../lists/response-memory.ts'
import type { Database } from '../postgres/database.ts'
import { categoryHandlers } from './categories.ts'
import { messageHandlers } from './messages.ts'
import { orderHandlers } from './orders.ts'
import { petHandlers } from './pets.ts'

/** The handler of each operation: its generated stub if it has no other. */
export function operationHandlers(
  database: Database,
  config: Config
): Operations {
  const memory = new ResponseMemory(
    config.MAX_RESPONSE_BUFFER_BYTES,
    config.SEND_TIMEOUT_MS
  )

  return {
    ...stubs,
    ...categoryHandlers(database, memory),
    ...messageHandlers(database),
    ...orderHandlers(database, memory),
    ...petHandlers(database, memory)
  }
}
