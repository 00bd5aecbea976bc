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

/** @param limit bytes */
export function responseMemory(limit: number): ResponseMemory {
  const holders = new Map<{ readonly length: number }, number>()
  let total = 0
  return {
    hold(held, response) {
      // Its client has gone, and so will never end it.
      if (response.destroyed) return
      const count = holders.get(held) ?? 0
      if (count === 0) {
        if (total + held.length > limit) throw new Overloaded()
        total += held.length
      }
      holders.set(held, count + 1)
      response.once('close', () => {
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
