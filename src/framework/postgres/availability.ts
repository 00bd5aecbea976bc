import type { Logger } from 'pino'
import { onceAMinute } from '../once-a-minute.ts'

/**
 * Milliseconds without a failure before a success ends an outage: during an
 * outage, some statements may succeed.
 */
const quietMs = 5000

/**
 * Milliseconds without a failure after which an outage counts as ended, even
 * without a success: perhaps nothing has used the database since.
 */
const forgetAfterMs = 60_000

/** The availability of the database for one use. */
export type Availability = ReturnType<typeof trackAvailability>

/**
 * Tracks the availability of the database for one use. Logs an outage when it
 * begins, every minute in which it goes on, and when it ends.
 */
export function trackAvailability(use: string, log: Logger) {
  /** The time of the last failure of the outage, if there is one. */
  let lastFailure: number | undefined
  const outageLog = () =>
    onceAMinute((cause: unknown, message: string) =>
      log.error({ err: cause }, message)
    )
  let logOutage = outageLog()
  const sinceFailure = () => performance.now() - (lastFailure ?? -Infinity)

  return {
    use,

    /**
     * False during an outage: from a failure to a success that comes at least
     * 5 s after the last failure, or to the end of a minute without a failure.
     */
    get isAvailable() {
      return sinceFailure() > forgetAfterMs
    },

    /**
     * A statement failed, although it was not at fault.
     *
     * @param hint what the operator can check
     */
    failed(cause: unknown, hint: string) {
      lastFailure = performance.now()
      logOutage(cause, `the database is unavailable for ${use}${hint}`)
    },

    succeeded() {
      if (lastFailure === undefined || sinceFailure() < quietMs) return
      lastFailure = undefined
      logOutage = outageLog()
      log.info(`the database is available again for ${use}`)
    }
  }
}
