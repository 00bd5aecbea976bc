import type { FastifyInstance, FastifyReply } from 'fastify'
import { LRUCache } from 'lru-cache'
import { HttpError } from '../errors.ts'

const windowSeconds = 60

/**
 * API keys whose requests are counted at the same time. With more, the least
 * recently used key is forgotten.
 */
const maxKeys = 10_000

/**
 * Returns a function that counts the requests of each API key in this process:
 * at most `max` in a window of a minute that begins with the first of them. It
 * sets the RateLimit headers, and returns the 429 of a request over the limit.
 * The log names the key once in each window.
 *
 * @fastify/rate-limit would send the headers of an older draft, and takes a
 * tenth of the lists per second.
 *
 * @param max 0 disables the limit
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function rateLimit({ log, metrics }: FastifyInstance, max: number) {
  const counts = new LRUCache<bigint, number>({
    max: maxKeys,
    ttl: windowSeconds * 1000,
    noUpdateTTL: true,
    // The time is read at each request.
    ttlResolution: 0
  })

  return (keyId: bigint, reply: FastifyReply): HttpError | undefined => {
    if (max === 0) return undefined

    const count = (counts.get(keyId) ?? 0) + 1
    counts.set(keyId, count)
    // At the end of the window, nothing remains for a moment.
    const remainingMs = Math.max(1, counts.getRemainingTTL(keyId))
    const seconds = Math.ceil(remainingMs / 1000)
    const left = Math.max(0, max - count)
    reply.headers({
      'ratelimit-policy': `"key";q=${max};w=${windowSeconds}`,
      ratelimit: `"key";r=${left};t=${seconds}`
    })
    if (count <= max) return undefined

    const message = 'Too many requests with this API key'
    if (count === max + 1) log.warn({ key: String(keyId) }, message)
    metrics.rateLimited.inc()

    const time = `${seconds} second${seconds === 1 ? '' : 's'}`
    return new HttpError(429, 'rate_limited', `${message}: retry in ${time}`, {
      'retry-after': String(seconds)
    })
  }
}
