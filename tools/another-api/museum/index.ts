import type { Api } from '../api.ts'
import { eventHandlers, eventPrivileges } from './events.ts'

/** The API that this repository serves. */
export const api: Api = {
  openapi: new URL('../../generated/openapi.yaml', import.meta.url),
  handlers: eventHandlers,
  migrations: new URL('../../migrations/resources/', import.meta.url),
  privileges: eventPrivileges
}
