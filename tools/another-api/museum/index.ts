import { apiKeyPrefix, realm, serviceName } from '../../generated/names.ts'
import type { Api } from '../framework/api.ts'
import { eventHandlers } from './events.ts'

/** The API that this repository serves. */
export const api: Api = {
  names: { service: serviceName, apiKeyPrefix, realm },
  openapi: new URL('../../openapi.yaml', import.meta.url),
  samples: new URL('../../generated/samples.json', import.meta.url),
  handlers: eventHandlers,
  measurers: [],
  migrations: new URL('../../migrations/', import.meta.url)
}
