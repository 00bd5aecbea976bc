import type { Logger } from 'pino'
import type { DatabaseUse } from './statement-runner.ts'

/**
 * Milliseconds without a failure before a success ends an outage: during an
 * outage, some statements may succeed.
 */
const quietMs = 5000

/**
 * Milliseconds without a failure after which an outage may have ended. Perhaps
 * nothing has used the database since.
 */
const forgetAfterMs = 60_000

/** The availability of the database for one use. Logs its outages. */
export class Availability {
  #lastFailure = -Infinity
  /** Whether a success has ended the last outage. */
  #isOver = true
  readonly #use: DatabaseUse
  readonly #log: Logger

  constructor(use: DatabaseUse, log: Logger) {
    this.#use = use
    this.#log = log
  }

  /**
   * For the metrics: false from a failure until a success that is 5 s later, or
   * for a minute.
   */
  get isAvailable(): boolean {
    return this.#isOver || this.#quietMs > forgetAfterMs
  }

  get #quietMs(): number {
    return performance.now() - this.#lastFailure
  }

  /**
   * A statement failed, although it was not at fault.
   *
   * @param hint what the operator can check
   */
  failed(cause: unknown, hint: string): void {
    const message = `the database is unavailable for ${this.#use}${hint}`
    if (this.isAvailable) this.#log.error({ err: cause }, message)
    this.#isOver = false
    this.#lastFailure = performance.now()
  }

  succeeded(): void {
    if (this.#isOver || this.#quietMs < quietMs) return
    this.#isOver = true
    this.#log.info(`the database is available again for ${this.#use}`)
  }
}
