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
     * Counts a body until the response has closed, once for all responses that share it. Disconnects a client that reads no
     * chunk in time.
     *
     * @throws Overloaded if the limit would be exceeded
     */
    hold(response: ServerResponse, body: { size: number }): void {
      // A closed response emits no further event that could release what it holds.
      if (body.size <= notCounted || response.destroyed) return
      const count = holders.get(body) ?? 0
      if (count === 0) {
        if (total + body.size > limit) throw new Overloaded()
        total += body.size
      }
      holders.set(body, count + 1)
      const timer = setTimeout(() => response.destroy(), timeout)
      response.on('drain', () => timer.refresh())
      response.once('close', () => {
        clearTimeout(timer)
        const left = (holders.get(body) as number) - 1
        holders.set(body, left)
        if (left === 0) total -= body.size
      })
    }
  }
}
