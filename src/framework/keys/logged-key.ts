import type { FastifyRequest } from 'fastify'
import type { LoggedApiKey } from '../http/access-log.ts'
// Declares request.apiKeyCheck.
import './bearer.ts'

/** Returns the fields of the access log about the API key of a request. */
export function loggedApiKeyOf({ apiKeyCheck }: FastifyRequest): LoggedApiKey {
  if (apiKeyCheck === undefined) return {}
  const { id, state } = apiKeyCheck
  const rejected = state === 'valid' ? undefined : state
  return { key: id?.toString(), rejected }
}
