import { apiKeyPrefix, realm, serviceName } from '../../generated/names.ts'
import type { Operations } from '../../generated/operations.ts'
import type { Api } from '../framework/api.ts'
import type { ResponseMemory } from '../framework/lists/response-memory.ts'
import type { Database } from '../framework/postgres/database.ts'
import { categoryHandlers } from './categories.ts'
import { messageHandlers, queueMeasurer } from './messages.ts'
import { orderHandlers } from './orders.ts'
import { petHandlers } from './pets.ts'

/** The API that this repository serves. */
export const api: Api = {
  names: { service: serviceName, apiKeyPrefix, realm },
  openapi: new URL('../../openapi.yaml', import.meta.url),
  samples: new URL('../../generated/samples.json', import.meta.url),
  manual: new URL('../../generated/manual/', import.meta.url),
  handlers: operationHandlers,
  migrations: new URL('../../migrations/', import.meta.url),
  measurers: [queueMeasurer]
}

/**
 * Operations without a handler, as a union: they respond with 501. The compiler
 * reports each other operation that has none.
 */
type Unimplemented = never

/** The handlers that src/handlers must have. */
export type Implemented = Omit<Operations, Unimplemented>

function operationHandlers(
  database: Database,
  memory: ResponseMemory
): Implemented {
  return {
    ...categoryHandlers(database, memory),
    ...messageHandlers(database),
    ...orderHandlers(database, memory),
    ...petHandlers(database, memory)
  }
}
