import type { Operations } from '../../generated/operations.ts'
import type { Api } from '../api.ts'
import type { Config } from '../config.ts'
import { ResponseMemory } from '../lists/response-memory.ts'
import type { Database } from '../postgres/database.ts'
import { eventHandlers, eventPrivileges } from './events.ts'

/** The API that this repository serves. */
export const api: Api = {
  openapi: new URL('../../generated/openapi.yaml', import.meta.url),
  handlers: operationHandlers,
  migrations: new URL('../../migrations/resources/', import.meta.url),
  privileges: eventPrivileges
}

function operationHandlers(database: Database, config: Config): Operations {
  const memory = new ResponseMemory(
    config.MAX_RESPONSE_BUFFER_BYTES,
    config.SEND_TIMEOUT_MS
  )

  return eventHandlers(database, memory)
}
