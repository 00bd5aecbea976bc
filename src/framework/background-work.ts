/**
 * Work that no request waits for. It is in one of these states:
 *
 * - waiting: until the database is ready
 * - running
 * - stopped: for good, even if the database becomes ready later
 */
export class BackgroundWork {
  #state: 'waiting' | 'running' | 'stopped' = 'waiting'
  #startWork: () => () => void
  #stopWork = () => {}

  /** @param startWork starts the work and returns a function that stops it */
  constructor(startWork: () => () => void) {
    this.#startWork = startWork
  }

  start(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'running'
    this.#stopWork = this.#startWork()
  }

  stop(): void {
    this.#state = 'stopped'
    this.#stopWork()
  }
}
