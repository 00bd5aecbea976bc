import type { ServerResponse } from 'node:http'
import { Overloaded } from '../batch.ts'
import type { Config } from '../config.ts'

export type ResponseMemory = ReturnType<typeof responseMemory>

/** Bytes. A body of this size fits the buffers of the operating system and is not counted. */
const notCounted = 2 ** 16

/** Limits the memory that responses hold until their clients have read them, and the time for a client to read a chunk. */
export function responseMemory({
  RESPONSE_MEMORY: limit,
  ANSWER_TIMEOUT: timeout
}: Pick<Config, 'RESPONSE_MEMORY' | 'ANSWER_TIMEOUT'>) {
  const holders = new Map<object, number>()
  let total = 0
  return {
    /** Bytes. */
    limit,
    /**
     * Counts a body until the response has closed, once for all responses that share it, and `own` bytes of the response.
     *
     * @returns a function to call for each chunk that the client has read; ANSWER_TIMEOUT without a call disconnects it
     * @throws Overloaded if the limit would be exceeded
     */
    hold(response: ServerResponse, shared: { size: number }, own = 0): () => void {
      // A closed response emits no further event that could release what it holds.
      if (shared.size + own <= notCounted || response.destroyed) return () => {}
      const added = own + (holders.has(shared) ? 0 : shared.size)
      if (total + added > limit) throw new Overloaded()
      total += added
      holders.set(shared, (holders.get(shared) ?? 0) + 1)
      const timer = setTimeout(() => response.destroy(), timeout)
      response.once('close', () => {
        clearTimeout(timer)
        const left = (holders.get(shared) as number) - 1
        if (left > 0) holders.set(shared, left)
        else holders.delete(shared)
        total -= own + (left > 0 ? 0 : shared.size)
      })
      return () => timer.refresh()
    }
  }
}
