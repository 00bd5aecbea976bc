import type { ServerResponse } from 'node:http'
import { Overloaded } from '../batch.ts'

/** Anything that takes memory until clients have read it. */
interface Held {
  /** Bytes. */
  readonly length: number
}

/** Limits the memory that responses hold until their clients have read them, and the time that clients take. */
export interface ResponseMemory {
  /**
   * Counts what the response holds until it has closed; what several responses hold is counted once. The response is
   * destroyed when its client takes longer than the time-out for a chunk of it.
   *
   * @returns what to call for every chunk that the client has taken
   * @throws Overloaded when the limit would be exceeded
   */
  hold(response: ServerResponse, ...held: Held[]): () => void
}

export interface ResponseMemoryOptions {
  /** Bytes. */
  limit: number
  /** Milliseconds for a client to read a chunk. */
  timeout: number
}

/** Bytes up to which a body fits the buffers of the operating system and is not counted. */
const notCounted = 2 ** 16

export function responseMemory({ limit, timeout }: ResponseMemoryOptions): ResponseMemory {
  const holders = new Map<Held, number>()
  let total = 0
  return {
    hold(response, ...held) {
      const counted = held.filter(({ length }) => length > notCounted)
      // A response that has closed will not close again to release anything.
      if (counted.length === 0 || response.destroyed) return () => {}
      const added = counted.filter((one) => !holders.has(one)).reduce((sum, { length }) => sum + length, 0)
      if (total + added > limit) throw new Overloaded()
      total += added
      for (const one of counted) holders.set(one, (holders.get(one) ?? 0) + 1)
      const timer = setTimeout(() => response.destroy(), timeout)
      response.once('close', () => {
        clearTimeout(timer)
        for (const one of counted) {
          const left = (holders.get(one) as number) - 1
          if (left > 0) holders.set(one, left)
          else if (holders.delete(one)) total -= one.length
        }
      })
      return () => timer.refresh()
    }
  }
}
