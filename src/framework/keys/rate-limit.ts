import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { HttpError } from '../http/errors.ts'
import type { Metrics } from '../metrics.ts'

/** A minute. */
const windowMs = 60_000

/** Sources that are counted at the same time. The least recent ones go. */
const maxSources = 10_000

interface RateLimit {
  /**
   * The name of the limit in the headers.
   *
   * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
   */
  policy: string
  /** 0 disables the limit. */
  maxPerMinute: number
  /** In the message of a 429, after "Too many requests". */
  requestDescription: string
  /** Logs that a source exceeds the limit: once in each of its windows. */
  report: (source: string) => void
}

/**
 * Limits the requests of each source, in this process: at most `maxPerMinute`
 * in a window of a minute that begins with the first of them.
 */
export class RateLimiter {
  readonly #limit: RateLimit
  readonly #metrics: Metrics
  /** The requests of each source in its window. */
  readonly #counts = new LRUCache<string, { requests: number }>({
    max: maxSources,
    ttl: windowMs,
    // The time is read at each request.
    ttlResolution: 0
  })

  constructor(limit: RateLimit, metrics: Metrics) {
    this.#limit = limit
    this.#metrics = metrics
  }

  /**
   * Counts a request, and sets its RateLimit headers.
   *
   * @param source the id of an API key, or an address
   * @returns the 429 if the request is over the limit
   */
  count(
    source: string,
    reply: { header(name: string, value: string): unknown }
  ): HttpError | undefined {
    const { policy, maxPerMinute, requestDescription, report } = this.#limit
    if (maxPerMinute === 0) return undefined

    const count = this.#counts.get(source) ?? { requests: 0 }
    count.requests++
    if (count.requests === 1) this.#counts.set(source, count)
    const left = maxPerMinute - count.requests
    const seconds = Math.ceil(this.#counts.getRemainingTTL(source) / 1000)

    const description = `q=${maxPerMinute};w=${windowMs / 1000}`
    reply.header('ratelimit-policy', `"${policy}";${description}`)
    const state = `r=${Math.max(0, left)};t=${seconds}`
    reply.header('ratelimit', `"${policy}";${state}`)
    if (left >= 0) return undefined

    if (left === -1) report(source)
    this.#metrics.rateLimited.inc({ limit: policy })

    return tooManyRequests(requestDescription, seconds)
  }
}

function tooManyRequests(
  requestDescription: string,
  seconds: number
): HttpError {
  const time = seconds === 1 ? '1 second' : `${seconds} seconds`
  const message = `Too many requests ${requestDescription}: retry in ${time}`
  const headers = { 'retry-after': String(seconds) }
  return new HttpError(429, 'rate_limited', message, headers)
}

/**
 * Groups IPv6 addresses by /64, the smallest block that providers assign to one
 * customer. Returns text that has no address unchanged.
 *
 * @param text an entry of X-Forwarded-For. Some proxies append the client's
 * port, and put an IPv6 address in brackets: `192.0.2.2:40001`,
 * `[2001:db8::1]:40001`
 */
export function networkOf(text: string): string {
  const address = text
    .replace(/^\[([^\]]*)\](:\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
  if (!ipaddr.isValid(address)) return text
  const parsed = ipaddr.process(address)

  return parsed instanceof ipaddr.IPv6
    ? parsed.parts.slice(0, 4).join(':')
    : parsed.toString()
}
