import ipaddr from 'ipaddr.js'
import { HttpError } from '../http/errors.ts'
import { rateLimited } from '../metrics.ts'

/** A minute. */
const windowMs = 60_000

/** Beyond this number, the oldest window is forgotten. */
const maxWindows = 10_000

/** What requests are counted by: the id of an API key, or an address. */
type Source = bigint | string | undefined

interface Window {
  count: number
  /** Milliseconds, by `performance.now()`. */
  endsAt: number
}

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
  report: (source: Source) => void
}

/**
 * Limits the requests of each source, in this process: at most `maxPerMinute`
 * in a window of a minute that begins with the first of them.
 */
export class RateLimiter {
  readonly #limit: RateLimit
  /** In the order in which they end. */
  readonly #windows = new Map<Source, Window>()

  constructor(limit: RateLimit) {
    this.#limit = limit
    rateLimited.inc({ limit: limit.policy }, 0)
  }

  /**
   * Counts a request, and sets its RateLimit headers.
   *
   * @returns the 429 if the request is over the limit
   */
  count(
    source: Source,
    reply: { header(name: string, value: string): unknown }
  ): HttpError | undefined {
    const { policy, maxPerMinute, requestDescription, report } = this.#limit
    if (maxPerMinute === 0) return undefined

    const window = this.#currentWindow(source) ?? this.#openWindow(source)
    window.count++
    const left = maxPerMinute - window.count
    const seconds = Math.ceil((window.endsAt - performance.now()) / 1000)

    const description = `q=${maxPerMinute};w=${windowMs / 1000}`
    reply.header('ratelimit-policy', `"${policy}";${description}`)
    const state = `r=${Math.max(0, left)};t=${seconds}`
    reply.header('ratelimit', `"${policy}";${state}`)
    if (left >= 0) return undefined

    if (left === -1) report(source)
    rateLimited.inc({ limit: policy })

    return tooManyRequests(requestDescription, seconds)
  }

  #currentWindow(source: Source): Window | undefined {
    const window = this.#windows.get(source)
    if (window === undefined) return undefined
    return window.endsAt > performance.now() ? window : undefined
  }

  #openWindow(source: Source): Window {
    const window = { count: 0, endsAt: performance.now() + windowMs }
    // The newest window is the last one of the map.
    this.#windows.delete(source)
    this.#windows.set(source, window)

    const [oldest] = this.#windows.keys()
    if (this.#windows.size > maxWindows && oldest !== undefined)
      this.#windows.delete(oldest)

    return window
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
