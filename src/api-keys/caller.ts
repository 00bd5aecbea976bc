import type { FastifyRequest } from 'fastify'
import type { Caller } from '../http/access-log.ts'
import './bearer.ts'

/** Returns what the access log says about the sender of a request. */
export function callerOf({ apiKey }: FastifyRequest): Caller {
  if (apiKey === undefined) return {}
  const { id, state } = apiKey
  const rejected = state === 'valid' ? undefined : state
  return { key: id?.toString(), rejected }
}
