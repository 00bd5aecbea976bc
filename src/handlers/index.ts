import { apiKeyPrefix, realm, serviceName } from '../../generated/names.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import { stubs } from '../../generated/stubs.ts'
import type { Api } from '../framework/api.ts'
import type { ResponseBuffers } from '../framework/reads/response-buffers.ts'
import type { Database } from '../framework/postgres/database.ts'
import { categoryHandlers } from './categories.ts'
import { messageHandlers } from './messages.ts'
import { orderHandlers } from './orders.ts'
import { petHandlers } from './pets.ts'

/** The API that this repository serves. */
export const api: Api = {
  names: { service: serviceName, apiKeyPrefix, realm },
  openapiFile: new URL('../../openapi.yaml', import.meta.url),
  samplesFile: new URL('../../generated/samples.json', import.meta.url),
  guideRoot: new URL('../../', import.meta.url),
  handlers: operationHandlers,
  migrationsFolder: new URL('../../migrations/', import.meta.url)
}

/**
 * Operations without a handler, as a union: their stubs respond with 501. The
 * compiler reports each other operation that has none.
 */
type Unimplemented = never

/** The handlers that src/handlers must have. */
export type Implemented = Omit<OperationHandlers, Unimplemented>

function operationHandlers(
  database: Database,
  buffers: ResponseBuffers
): OperationHandlers {
  const implemented: Implemented = {
    ...categoryHandlers(database, buffers),
    ...messageHandlers(database),
    ...orderHandlers(database, buffers),
    ...petHandlers(database, buffers)
  }

  return { ...stubs, ...implemented }
}
