import type { PoolClient } from 'pg'
import { sendCancelRequest } from './cancel-request.ts'

/** Milliseconds in which the server must end a cancelled statement. */
const cancelGraceMs = 1000

/**
 * The deadline of one statement: `running` until the timeout, `cancelled` until
 * the grace period has passed too, then `abandoned`, with its connection
 * closed. `clear` stops this.
 *
 * A statement_timeout would not end a commit that waits for a standby, and
 * poolers reject it as a startup parameter.
 */
export class Deadline {
  #state: 'running' | 'cancelled' | 'abandoned' = 'running'
  #timer: NodeJS.Timeout
  readonly #connection: PoolClient
  readonly #onAbandoned: () => void

  /**
   * @param connection runs this statement, and no other
   * @param timeoutMs milliseconds until the statement is cancelled
   * @param onAbandoned called when the server did not end the statement
   */
  constructor(
    connection: PoolClient,
    timeoutMs: number,
    onAbandoned: () => void
  ) {
    this.#connection = connection
    this.#onAbandoned = onAbandoned
    this.#timer = setTimeout(() => this.#cancel(), timeoutMs)
  }

  /** Whether a CancelRequest was sent. It may arrive at any time from then. */
  get isExceeded(): boolean {
    return this.#state !== 'running'
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #cancel(): void {
    this.#state = 'cancelled'
    sendCancelRequest(this.#connection, cancelGraceMs)
    this.#timer = setTimeout(() => this.#abandon(), cancelGraceMs)
  }

  #abandon(): void {
    this.#state = 'abandoned'
    this.#connection.end().catch(() => {})
    this.#onAbandoned()
  }
}
