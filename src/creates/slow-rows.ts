import { Overloaded } from '../batch.ts'

/** A row that is written by a statement of its own. */
interface SlowRow {
  client: string
  /** When it came, by the clock of `performance`. */
  since: number
  start: () => Promise<void>
  reject: (error: unknown) => void
}

/** Statements of slow rows that may run at the same time. */
const maxRunning = 2

/** Rows that may wait for their statement. */
const maxWaiting = 250

/**
 * The rows that exceed the time limit even alone, because they wait for a lock
 * or run a slow trigger. Each is written by a statement of its own. Two of them
 * run at the same time, from different clients: the slow rows of one client do
 * not delay those of another.
 */
export class SlowRows {
  readonly #maxWait: number
  readonly #running = new Set<string>()
  #waiting: SlowRow[] = []

  /** @param maxWait milliseconds after which a row that waits is rejected */
  constructor(maxWait: number) {
    this.#maxWait = maxWait
  }

  /** Whether a slow row of the client waits, or is being written. */
  has(client: string): boolean {
    return (
      this.#running.has(client) ||
      this.#waiting.some((row) => row.client === client)
    )
  }

  /**
   * Writes a row when it is its turn.
   *
   * @throws Overloaded if too many rows wait, or this one has waited too long
   */
  write<Result>(client: string, run: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= maxWaiting) {
        reject(new Overloaded())
        return
      }

      const since = performance.now()
      const start = () => run().then(resolve, reject)
      this.#waiting.push({ client, since, start, reject })
      this.#startNext()
    })
  }

  /** Starts the oldest row whose client has no other one running. */
  #startNext(): void {
    this.#rejectLate()
    if (this.#running.size >= maxRunning) return

    const next = this.#waiting.find(({ client }) => !this.#running.has(client))
    if (next === undefined) return

    this.#waiting = this.#waiting.filter((row) => row !== next)
    this.#running.add(next.client)
    next
      .start()
      .finally(() => this.#ended(next))
      .catch(next.reject)
  }

  #ended({ client }: SlowRow): void {
    this.#running.delete(client)
    this.#startNext()
  }

  #rejectLate(): void {
    const latest = performance.now() - this.#maxWait
    const late = this.#waiting.filter(({ since }) => since < latest)

    this.#waiting = this.#waiting.filter(({ since }) => since >= latest)
    for (const { reject } of late) reject(new Overloaded())
  }
}
