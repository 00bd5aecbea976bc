import type { FastifyRequest } from 'fastify'
import type { LoggedKey } from '../http/access-log.ts'
// Declares request.keyCheck.
import './bearer.ts'

/** Returns the fields of the access log about the API key of a request. */
export function loggedKeyOf({ keyCheck }: FastifyRequest): LoggedKey {
  if (keyCheck === undefined) return {}
  const { id, state } = keyCheck
  const rejected = state === 'valid' ? undefined : state
  return { key: id?.toString(), rejected }
}
