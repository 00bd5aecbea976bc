import { apiKeyPrefix, realm, serviceName } from '../../generated/names.ts'
import type { Api } from '../framework/api.ts'
import { trainHandlers } from './trains.ts'

/** The API that this repository serves. */
export const api: Api = {
  names: { service: serviceName, apiKeyPrefix, realm },
  openapiFile: new URL('../../openapi.yaml', import.meta.url),
  manualRoot: new URL('../../', import.meta.url),
  handlers: trainHandlers,
  migrationsFolder: new URL('../../migrations/', import.meta.url)
}
