import ipaddr from 'ipaddr.js'
import { HttpError } from '../http/errors.ts'

/** Milliseconds. */
const windowLength = 60_000
/** Beyond this number of sources, the oldest one is forgotten. */
const maxSources = 10_000

/**
 * Limits the requests of each key or address, in this process, to `max` in each minute. 0 disables the limit.
 *
 * @param policy its name in the headers (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/)
 * @param requests what the message of a 429 calls the requests
 */
export function rateLimiter(policy: string, max: number, requests: string) {
  /** The requests of the current minute. */
  const counts = new Map<unknown, number>()
  let endsAt = 0

  function countOf(source: unknown): number {
    const now = performance.now()
    if (now >= endsAt) {
      counts.clear()
      endsAt = now + windowLength
    }
    return counts.get(source) ?? 0
  }

  return {
    /** Whether the next request would be over the limit. */
    isReached: (source: unknown) => max > 0 && countOf(source) >= max,

    /** Counts a request and sets its RateLimit headers. Returns the 429 of a request over the limit. */
    count(source: unknown, reply: { header(name: string, value: string): unknown }): HttpError | undefined {
      if (max === 0) return undefined
      const count = countOf(source) + 1
      counts.set(source, count)
      if (counts.size > maxSources) counts.delete(counts.keys().next().value)
      const seconds = String(Math.ceil((endsAt - performance.now()) / 1000))
      reply.header('ratelimit-policy', `"${policy}";q=${max};w=${windowLength / 1000}`)
      reply.header('ratelimit', `"${policy}";r=${Math.max(0, max - count)};t=${seconds}`)
      if (count <= max) return undefined
      const message = `Too many requests ${requests}; retry after Retry-After seconds`
      return new HttpError(429, 'rate_limited', message, { 'retry-after': seconds })
    }
  }
}

/** Returns an IPv4 address, the /64 network of an IPv6 address, which one customer has, or any other text unchanged. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}
