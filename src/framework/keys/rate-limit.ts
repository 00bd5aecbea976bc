import type { FastifyInstance, FastifyReply } from 'fastify'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { HttpError } from '../errors.ts'

const windowSeconds = 60

/**
 * Sources that are counted at the same time. The least recently seen ones are
 * forgotten.
 */
const maxSources = 10_000

/** Which requests a policy counts: its name is in the headers. */
const phrases = {
  key: 'with this API key',
  rejected: 'without a valid API key from this address'
}

/**
 * Returns a function that counts the requests of each source in this process:
 * at most `max` in a window of a minute that begins with the first of them. It
 * sets the RateLimit headers, and returns the 429 of a request over the limit.
 * A source is the id of an API key, or an address. The log names one that is
 * over the limit, once in each window.
 *
 * @fastify/rate-limit would send the headers of an older draft, and takes a
 * tenth of the lists per second.
 *
 * @param max 0 disables the limit
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function rateLimit(
  { log, metrics }: FastifyInstance,
  policy: keyof typeof phrases,
  max: number
) {
  const counts = new LRUCache<string, number>({
    max: maxSources,
    ttl: windowSeconds * 1000,
    noUpdateTTL: true,
    // The time is read at each request.
    ttlResolution: 0
  })

  return (source: string, reply: FastifyReply): HttpError | undefined => {
    if (max === 0) return undefined

    const count = (counts.get(source) ?? 0) + 1
    counts.set(source, count)
    // At the end of the window, nothing remains for a moment.
    const remainingMs = Math.max(1, counts.getRemainingTTL(source))
    const seconds = Math.ceil(remainingMs / 1000)
    const left = Math.max(0, max - count)
    reply.headers({
      'ratelimit-policy': `"${policy}";q=${max};w=${windowSeconds}`,
      ratelimit: `"${policy}";r=${left};t=${seconds}`
    })
    if (count <= max) return undefined

    const message = `Too many requests ${phrases[policy]}`
    if (count === max + 1) log.warn({ source }, message)
    metrics.rateLimited.inc({ limit: policy })

    const time = `${seconds} second${seconds === 1 ? '' : 's'}`
    return new HttpError(429, 'rate_limited', `${message}: retry in ${time}`, {
      'retry-after': String(seconds)
    })
  }
}

/**
 * Groups IPv6 addresses by /64, the smallest block that providers assign to one
 * customer, and texts without an address, which could be of any length.
 *
 * @param text an entry of X-Forwarded-For. Some proxies append the client's
 * port, and put an IPv6 address in brackets: `192.0.2.2:40001`,
 * `[2001:db8::1]:40001`
 */
export function networkOf(text = ''): string {
  const address = text.replace(/^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/, '$1$2')
  if (!ipaddr.isValid(address)) return 'no address'
  const ip = ipaddr.process(address).toString()

  return ipaddr.IPv6.isValid(ip)
    ? ipaddr.IPv6.networkAddressFromCIDR(`${ip}/64`).toString()
    : ip
}
