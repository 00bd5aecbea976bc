import type { ServerResponse } from 'node:http'
import { Overloaded } from '../database/errors.ts'

/** Bounds the memory that responses take until their clients have read them. */
export interface ResponseMemory {
  /**
   * Counts `held` until the response has ended, well or not; once, however many responses hold it.
   *
   * @throws Overloaded when it would be more than the limit
   */
  hold(held: { readonly length: number }, response: ServerResponse): void
}

export interface ResponseMemoryOptions {
  /** Bytes. */
  limit: number
  /** Milliseconds for a client to read a response in; it is destroyed then. */
  timeout: number
}

/** Bytes up to which a body goes to the system's own buffers at once, whoever reads it. */
const notHeld = 2 ** 16

export function responseMemory({ limit, timeout }: ResponseMemoryOptions): ResponseMemory {
  const holders = new Map<{ readonly length: number }, number>()
  let total = 0
  return {
    hold(held, response) {
      // Nor is it held when its client has gone, and so will never end it.
      if (held.length <= notHeld || response.destroyed) return
      const count = holders.get(held) ?? 0
      if (count === 0) {
        if (total + held.length > limit) throw new Overloaded()
        total += held.length
      }
      holders.set(held, count + 1)
      const timer = setTimeout(() => response.destroy(), timeout)
      response.once('close', () => {
        clearTimeout(timer)
        const left = (holders.get(held) as number) - 1
        if (left > 0) holders.set(held, left)
        else {
          holders.delete(held)
          total -= held.length
        }
      })
    }
  }
}
