import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { oneLine } from '../log.ts'

/** Milliseconds between two attempts: the first, which each further one doubles, and the most. */
const backOff = { first: 250, most: 5000 }

/** Milliseconds in which the same reason is logged once. */
const silence = 60_000

/**
 * Prepares the database as soon as possible: tries again until `prepare` succeeds or the signal is aborted. Why it failed is
 * logged, each reason at most once a minute, and that it succeeded after all.
 */
export async function whenPossible(prepare: () => Promise<void>, log: Logger, signal: AbortSignal): Promise<void> {
  const loggedAt = new Map<string, number>()
  for (let delay = backOff.first; !signal.aborted; delay = Math.min(delay * 2, backOff.most)) {
    try {
      await prepare()
      if (loggedAt.size > 0) log.info('the database is ready')
      return
    } catch (error) {
      if (signal.aborted) return
      const reason = oneLine(error)
      if (performance.now() - (loggedAt.get(reason) ?? -silence) >= silence) {
        log.error(`the database is not ready: ${reason}; retrying at least every ${backOff.most / 1000} s`)
        loggedAt.set(reason, performance.now())
      }
      await sleep(delay, undefined, { signal }).catch(() => {})
    }
  }
}
