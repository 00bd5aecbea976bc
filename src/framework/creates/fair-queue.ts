import { Overloaded } from '../batch.ts'
import { currentSpan, inSpan } from '../tracing/spans.ts'

interface WaitingStatement {
  client: string
  /** By the clock of `performance`. */
  arrivedAt: number
  start: () => Promise<void>
  reject: (error: unknown) => void
}

interface Limits {
  /** Statements that may run at the same time. */
  maxRunning: number
  /** Statements that may wait; further ones reject with Overloaded. */
  maxQueued: number
  /** Milliseconds after which a waiting statement rejects with Overloaded. */
  maxWaitMs: number
}

/**
 * Runs a few statements at the same time, each for a different client. Clients
 * take turns, so a client with many statements delays another client by only
 * one.
 */
export class FairQueue {
  readonly #limits: Limits
  readonly #running = new Set<string>()
  /** By turns: the statements of the client that ran last are at the end. */
  #waiting: WaitingStatement[] = []

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Whether a statement of the client waits or runs. */
  has(client: string): boolean {
    return (
      this.#running.has(client) ||
      this.#waiting.some((waiting) => waiting.client === client)
    )
  }

  /**
   * Runs a statement when it is its turn.
   *
   * @throws what the statement throws, and Overloaded
   */
  run<Result>(
    client: string,
    statement: () => Promise<Result>
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= this.#limits.maxQueued) {
        reject(new Overloaded())
        return
      }

      const arrivedAt = performance.now()
      const span = currentSpan()
      const start = () => inSpan(span, statement).then(resolve, reject)
      this.#waiting.push({ client, arrivedAt, start, reject })
      this.#startNext()
    })
  }

  #startNext(): void {
    this.#rejectLate()
    if (this.#running.size >= this.#limits.maxRunning) return

    const next = this.#waiting.find(({ client }) => !this.#running.has(client))
    if (next === undefined) return

    this.#waiting = waitingAfter(next, this.#waiting)
    this.#running.add(next.client)
    // `start` never rejects: only the linter needs the catch.
    next
      .start()
      .then(() => this.#ended(next))
      .catch(next.reject)
  }

  #ended({ client }: WaitingStatement): void {
    this.#running.delete(client)
    this.#startNext()
  }

  #rejectLate(): void {
    const earliestArrival = performance.now() - this.#limits.maxWaitMs
    const late = this.#waiting.filter(
      ({ arrivedAt }) => arrivedAt < earliestArrival
    )

    this.#waiting = this.#waiting.filter(
      ({ arrivedAt }) => arrivedAt >= earliestArrival
    )
    for (const { reject } of late) reject(new Overloaded())
  }
}

/** What waits after a statement has started: its client goes to the end. */
function waitingAfter(
  started: WaitingStatement,
  waiting: WaitingStatement[]
): WaitingStatement[] {
  const others = waiting.filter((other) => other !== started)

  return [
    ...others.filter(({ client }) => client !== started.client),
    ...others.filter(({ client }) => client === started.client)
  ]
}
