import ipaddr from 'ipaddr.js'
import { HttpError } from '../http/errors.ts'

/** Milliseconds. */
export const rateWindow = 60_000

/** The headers RateLimit and RateLimit-Policy (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/). */
export type RateLimitHeaders = Record<'ratelimit' | 'ratelimit-policy', string>

/** Counts requests of each key or address, in windows of a minute that begin with the first one, in this process's memory. */
export interface RateLimiter<Of> {
  /**
   * Counts a request.
   *
   * @throws HttpError 429 when it is one too many
   */
  count(of: Of): RateLimitHeaders
  /** @throws HttpError 429 when one more would be too many */
  check(of: Of): void
}

export interface RateLimiterOptions {
  /** The name of the policy in the headers. */
  name: string
  /** Requests in a window. */
  max: number
  /** What the client of a 429 is told. */
  message: string
  /** Windows that are kept; one more, and the one that began first is forgotten. */
  maxWindows?: number
  /** A clock in milliseconds that only goes forward. */
  now?: () => number
}

export function rateLimiter<Of>(options: RateLimiterOptions): RateLimiter<Of> {
  const { name, max, message, maxWindows = 10_000, now = () => performance.now() } = options
  const policy = `"${name}";q=${max};w=${rateWindow / 1000}`
  /** In the order in which they end. */
  const windows = new Map<Of, { count: number; endsAt: number }>()

  function windowOf(of: Of) {
    const known = windows.get(of)
    if (known !== undefined && known.endsAt > now()) return known
    windows.delete(of)
    const window = { count: 0, endsAt: now() + rateWindow }
    windows.set(of, window)
    const [first] = windows.keys()
    if (windows.size > maxWindows) windows.delete(first as Of)
    return window
  }

  function admit({ count, endsAt }: { count: number; endsAt: number }): RateLimitHeaders {
    const seconds = Math.ceil((endsAt - now()) / 1000)
    const headers = {
      'ratelimit-policy': policy,
      ratelimit: `"${name}";r=${Math.max(0, max - count)};t=${seconds}`
    }
    if (count > max) throw new HttpError(429, 'rate_limited', message, { ...headers, 'retry-after': String(seconds) })
    return headers
  }

  return {
    count(of) {
      const window = windowOf(of)
      window.count++
      return admit(window)
    },
    check(of) {
      const { count, endsAt } = windowOf(of)
      admit({ count: count + 1, endsAt })
    }
  }
}

/**
 * What is counted as one address: an IPv4 address, or the /64 of an IPv6 one, which is what a single customer has. What a
 * trusted proxy says may be no address at all, and counts as it is.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}
