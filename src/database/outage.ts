import type { Logger } from 'pino'

/** What the log says of outages: one line when the database is lost, and one when it is back. */
export interface OutageLog {
  lost: (cause: unknown) => void
  /** Is told of every answer, so it costs nothing when there is no outage. */
  answered: () => void
}

export function outageLog(log: Logger): OutageLog {
  let isLost = false
  return {
    lost(cause) {
      if (!isLost) log.error({ err: cause }, 'the database is unavailable')
      isLost = true
    },
    answered() {
      if (isLost) log.info('the database answers again')
      isLost = false
    }
  }
}
