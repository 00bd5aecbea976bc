import type { ServerResponse } from 'node:http'
import { Overloaded } from '../batch.ts'

export type ResponseMemory = ReturnType<typeof responseMemory>

/** Bytes. A body of this size fits the buffers of the operating system and is not counted. */
const notCounted = 2 ** 16

/**
 * Limits the memory that responses hold until their clients have read them, in bytes, and the time for a client to read a
 * chunk, in milliseconds.
 */
export function responseMemory(limit: number, timeout: number) {
  const holders = new WeakMap<object, number>()
  let total = 0
  return {
    limit,
    /**
     * Counts a body until the response has closed, once for all responses that share it, and `own` bytes of the response.
     *
     * @returns a function to call for each chunk that the client has read; it is disconnected if that takes too long
     * @throws Overloaded if the limit would be exceeded
     */
    hold(
      response: ServerResponse,
      body: { size: number },
      own = 0
    ): () => void {
      // A closed response emits no further event that could release what it holds.
      if (body.size + own <= notCounted || response.destroyed) return () => {}
      const count = holders.get(body) ?? 0
      const added = own + (count === 0 ? body.size : 0)
      if (total + added > limit) throw new Overloaded()
      total += added
      holders.set(body, count + 1)
      const timer = setTimeout(() => response.destroy(), timeout)
      response.once('close', () => {
        clearTimeout(timer)
        const left = (holders.get(body) as number) - 1
        holders.set(body, left)
        total -= own + (left === 0 ? body.size : 0)
      })
      return () => timer.refresh()
    }
  }
}
