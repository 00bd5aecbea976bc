import ipaddr from 'ipaddr.js'
import { HttpError } from '../http/errors.ts'

/** Milliseconds. */
const windowLength = 60_000
/** Beyond this number, the oldest window is forgotten. */
const maxWindows = 10_000

/**
 * Limits the requests of each key or address, in this process, to `max` in a minute that begins with the first request.
 * 0 disables the limit.
 *
 * @param policy the name of the limit in the headers (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/)
 * @param requests describes the requests in the message of a 429
 */
export function rateLimiter(policy: string, max: number, requests: string) {
  /** In the order in which they end. */
  const windows = new Map<unknown, { count: number; endsAt: number }>()

  function windowOf(source: unknown) {
    const now = performance.now()
    const current = windows.get(source)
    if (current !== undefined && current.endsAt > now) return current
    const window = { count: 0, endsAt: now + windowLength }
    windows.delete(source)
    windows.set(source, window)
    if (windows.size > maxWindows) windows.delete(windows.keys().next().value)
    return window
  }

  return {
    /** Whether the next request would be over the limit. */
    isReached: (source: unknown) => max > 0 && windowOf(source).count >= max,

    /** Counts a request and sets its RateLimit headers. Returns the 429 of a request over the limit. */
    count(
      source: unknown,
      reply: { header(name: string, value: string): unknown }
    ): HttpError | undefined {
      if (max === 0) return undefined
      const window = windowOf(source)
      const left = max - ++window.count
      const seconds = String(
        Math.ceil((window.endsAt - performance.now()) / 1000)
      )
      reply.header(
        'ratelimit-policy',
        `"${policy}";q=${max};w=${windowLength / 1000}`
      )
      reply.header(
        'ratelimit',
        `"${policy}";r=${Math.max(0, left)};t=${seconds}`
      )
      if (left >= 0) return undefined
      const message = `Too many requests ${requests}; retry after Retry-After seconds`
      return new HttpError(429, 'rate_limited', message, {
        'retry-after': seconds
      })
    }
  }
}

/** Returns the /64 network of an IPv6 address, all of which one customer has, and any other text unchanged. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6
    ? parsed.parts.slice(0, 4).join(':')
    : parsed.toString()
}
