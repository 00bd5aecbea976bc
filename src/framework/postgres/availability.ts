import type { Logger } from 'pino'

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

/** The availability of the database for one kind of statements. */
export class Availability {
  /** `unreported` while the service itself reports why it is not ready. */
  #state: 'available' | 'unreported' | 'reported' = 'available'
  #lastFailure = 0
  #isReady = true
  readonly #statements: string
  readonly #log: Logger

  /** @param statements their name in the log */
  constructor(statements: string, log: Logger) {
    this.#statements = statements
    this.#log = log
  }

  /**
   * For the metrics: false from a failure until a success that is 5 s later, or
   * for a minute.
   */
  get isAvailable(): boolean {
    return this.#state === 'available' || this.#quietMs > forgetAfterMs
  }

  /** Keeps outages out of the log until the promise is settled. */
  reportAfter(ready: Promise<unknown>): void {
    const report = () => {
      this.#isReady = true
    }

    this.#isReady = false
    ready.then(report, report)
  }

  /**
   * A statement failed, although it was not at fault.
   *
   * @param hint what the operator can check
   */
  failed(cause: unknown, hint: string): void {
    this.#lastFailure = performance.now()
    if (this.#state === 'reported') return

    this.#state = this.#isReady ? 'reported' : 'unreported'
    if (!this.#isReady) return
    const message = `the database is unavailable for ${this.#statements}`
    this.#log.error({ err: cause }, message + hint)
  }

  succeeded(): void {
    if (this.#state === 'available' || this.#quietMs < quietMs) return

    if (this.#state === 'reported')
      this.#log.info(`the database is available again for ${this.#statements}`)
    this.#state = 'available'
  }

  get #quietMs(): number {
    return performance.now() - this.#lastFailure
  }
}
