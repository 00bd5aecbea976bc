import type { Logger } from 'pino'

/**
 * Milliseconds without a failure before a success ends an outage: during an
 * outage, some statements may succeed.
 */
const quietMs = 5000

/** Logs the begin and the end of each outage of one kind of statements. */
export class Availability {
  #state: 'available' | 'unavailable' = 'available'
  #lastFailure = 0
  readonly #statements: string
  readonly #log: Logger

  /** @param statements what the log calls them */
  constructor(statements: string, log: Logger) {
    this.#statements = statements
    this.#log = log
  }

  /**
   * A statement failed, although it was not at fault.
   *
   * @param hint what the operator can check
   */
  failed(cause: unknown, hint = ''): void {
    this.#lastFailure = performance.now()
    if (this.#state === 'unavailable') return

    this.#state = 'unavailable'
    const message = `the database is unavailable for ${this.#statements}`
    this.#log.error({ err: cause }, message + hint)
  }

  succeeded(): void {
    if (this.#state === 'available') return
    if (performance.now() - this.#lastFailure < quietMs) return

    this.#state = 'available'
    this.#log.info(`the database is available again for ${this.#statements}`)
  }
}
