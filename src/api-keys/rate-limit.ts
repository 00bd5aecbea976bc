import type { FastifyReply } from 'fastify'
import { HttpError } from '../errors.ts'

const windowSeconds = 60

/** A minute that begins with the first request of a client. */
interface Window {
  count: number
  /** As of performance.now(). */
  end: number
}

/**
 * Returns a function that counts the requests of a client in this process, by
 * the name of its API key. It sets the RateLimit headers, and returns the 429
 * of a request over the limit.
 *
 * @param max requests of a window; 0 disables the limit
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function makeCheckRateLimit(max: number) {
  const windows = new Map<string, Window>()

  return (name: string, reply: FastifyReply): HttpError | undefined => {
    if (max === 0) return undefined

    const now = performance.now()
    let window = windows.get(name)
    if (window === undefined || window.end <= now) {
      window = { count: 0, end: now + windowSeconds * 1000 }
      windows.set(name, window)
    }
    window.count++

    const seconds = Math.ceil((window.end - now) / 1000)
    const left = Math.max(0, max - window.count)
    reply.headers({
      'ratelimit-policy': `"key";q=${max};w=${windowSeconds}`,
      ratelimit: `"key";r=${left};t=${seconds}`
    })
    if (window.count <= max) return undefined

    return new HttpError(
      429,
      'rate_limited',
      `Too many requests with this API key: retry in ${seconds} s`,
      { 'retry-after': String(seconds) }
    )
  }
}
