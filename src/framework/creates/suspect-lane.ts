import { batch, Overloaded } from '../batch.ts'
import type { FairQueue } from './fair-queue.ts'
import { GroupTimedOut, isFaultOfRow } from '../postgres/failures.ts'

/** Rows of one statement: few, so that the slow one is found soon. */
const maxGroup = 16

/** Minimum milliseconds to find the slow rows of a group. */
const minSplitMs = 5000

/** Rows of all clients that may wait for a statement. */
const maxQueued = 1000

type CommitGroup<Row, Result> = (rows: Row[]) => Promise<Result[]>

/** The suspects of one client that wait or run. */
interface ClientQueue<Row, Result> {
  rowCount: number
  submit: (row: Row) => Promise<Result>
}

/**
 * Writes rows that may be slow, separately for each client. A group that
 * exceeds the group timeout is split, until the slow row is alone. After each
 * statement, it is the turn of another client.
 */
export class SuspectLane<Row, Result> {
  readonly #commitGroup: CommitGroup<Row, Result>
  readonly #turns: FairQueue
  readonly #maxWaitMs: number
  readonly #queues = new Map<string, ClientQueue<Row, Result>>()
  #rowCount = 0

  /**
   * @param maxWaitMs milliseconds that a row may wait for its statement.
   *   Splitting a group may take just as long, or 5 s if that is longer.
   */
  constructor(
    commitGroup: CommitGroup<Row, Result>,
    turns: FairQueue,
    maxWaitMs: number
  ) {
    this.#commitGroup = commitGroup
    this.#turns = turns
    this.#maxWaitMs = maxWaitMs
  }

  /**
   * Writes one row, with others of its client.
   *
   * @throws GroupTimedOut if the row exceeds it alone, Overloaded if too many
   *   rows wait, and what the writer throws
   */
  async submit(row: Row, client: string): Promise<Result> {
    if (this.#rowCount >= maxQueued) throw new Overloaded()

    const queue = this.#queues.get(client) ?? this.#newQueue(client)
    this.#count(client, queue, 1)

    try {
      return await queue.submit(row)
    } finally {
      this.#count(client, queue, -1)
    }
  }

  #newQueue(client: string): ClientQueue<Row, Result> {
    const commitInTurn = (rows: Row[]) =>
      this.#turns.run(client, () => this.#commitGroup(rows))

    return {
      rowCount: 0,
      submit: batch(commitInTurn, {
        name: 'grouped write of suspects',
        maxSize: maxGroup,
        maxWaitMs: this.#maxWaitMs,
        maxSplitMs: Math.max(minSplitMs, this.#maxWaitMs),
        isFaultOfItem: (error) =>
          error instanceof GroupTimedOut || isFaultOfRow(error)
      })
    }
  }

  /** Counts rows, and keeps the queue of a client while it has any. */
  #count(
    client: string,
    queue: ClientQueue<Row, Result>,
    change: 1 | -1
  ): void {
    this.#rowCount += change
    queue.rowCount += change
    if (queue.rowCount > 0) this.#queues.set(client, queue)
    else this.#queues.delete(client)
  }
}
