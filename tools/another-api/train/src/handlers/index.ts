import { apiKeyPrefix, realm, serviceName } from '../../generated/names.ts'
import { stubs } from '../../generated/stubs.ts'
import type { Api } from '../framework/api.ts'

/** The API that this repository serves. */
export const api: Api = {
  names: { service: serviceName, apiKeyPrefix, realm },
  openapiFile: new URL('../../openapi.yaml', import.meta.url),
  guideRoot: new URL('../../', import.meta.url),
  handlers: () => stubs,
  migrationsFolder: new URL('../../migrations/', import.meta.url)
}
