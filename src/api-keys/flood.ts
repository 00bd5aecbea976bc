import { setTimeout } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'

export interface FloodOptions {
  /** Answers a second, for all addresses together. */
  pace: number
  /** Answers that wait for their time; one more is given at once. */
  maxWaiting: number
  /** Addresses that are told apart in the log. */
  maxAddresses: number
}

const defaults: FloodOptions = { pace: 500, maxWaiting: 10_000, maxAddresses: 1000 }

/** Delays and counts the requests that are rejected past the limit of their address. */
export interface Flood {
  /** Resolves when one more may be answered: who floods waits, so that others do not. */
  turn(this: void): Promise<void>
  /** Counts one more for the summary of its address. */
  note(this: void, address: string): void
  /** Logs one line for each address that was noted since the last time. */
  summarise(this: void): void
}

export function flood(log: FastifyBaseLogger, { pace, maxWaiting, maxAddresses } = defaults): Flood {
  let nextTurn = 0
  let waiting = 0
  const counts = new Map<string, number>()
  return {
    async turn() {
      const now = performance.now()
      if (waiting >= maxWaiting) return
      const at = Math.max(now, nextTurn)
      nextTurn = at + 1000 / pace
      waiting++
      await setTimeout(at - now)
      waiting--
    },
    note(address) {
      const name = counts.has(address) || counts.size < maxAddresses ? address : 'others'
      counts.set(name, (counts.get(name) ?? 0) + 1)
    },
    summarise() {
      for (const [ip, count] of counts) log.warn({ ip, count }, 'requests were refused past the limit of their address')
      counts.clear()
    }
  }
}
