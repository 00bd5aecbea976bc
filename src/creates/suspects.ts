import { batch, Overloaded } from '../batch.ts'
import type { FairQueue } from '../postgres/fair-queue.ts'
import { isFaultOfRow, TimeLimitExceeded } from '../postgres/outcomes.ts'

/** Rows of one statement: few, so that the slow one is found soon. */
const maxGroup = 16

/** Least milliseconds to find the slow rows of a group. */
const minSplitMs = 5000

/** Rows of all clients that may wait for a statement. */
const maxQueued = 1000

type WriteGroup<Row, Result> = (rows: Row[]) => Promise<Result[]>

/** The suspects of one client. */
interface Group<Row, Result> {
  rowCount: number
  write: (row: Row) => Promise<Result>
}

/**
 * Writes rows of which some may be slow: those of each client separately. A
 * group that exceeds the time limit is split, until the slow row is alone.
 * After each statement, it is the turn of another client.
 */
export class Suspects<Row, Result> {
  readonly #writeGroup: WriteGroup<Row, Result>
  readonly #turns: FairQueue
  readonly #maxWaitMs: number
  readonly #groups = new Map<string, Group<Row, Result>>()
  #rowCount = 0

  /**
   * @param maxWaitMs milliseconds that a row may wait for its statement. A group
   *   has as long to be split, because the time limit is a part of it.
   */
  constructor(
    writeGroup: WriteGroup<Row, Result>,
    turns: FairQueue,
    maxWaitMs: number
  ) {
    this.#writeGroup = writeGroup
    this.#turns = turns
    this.#maxWaitMs = maxWaitMs
  }

  /**
   * Writes one row, with others of its client.
   *
   * @throws TimeLimitExceeded if the row exceeds the limit alone, Overloaded if
   *   too many rows wait, and what the writer throws
   */
  async write(row: Row, client: string): Promise<Result> {
    if (this.#rowCount >= maxQueued) throw new Overloaded()

    const group = this.#groups.get(client) ?? this.#newGroup(client)
    this.#count(client, group, 1)

    try {
      return await group.write(row)
    } finally {
      this.#count(client, group, -1)
    }
  }

  #newGroup(client: string): Group<Row, Result> {
    const writeInTurn = (rows: Row[]) =>
      this.#turns.run(client, () => this.#writeGroup(rows))

    return {
      rowCount: 0,
      write: batch(writeInTurn, {
        maxSize: maxGroup,
        maxWaitMs: this.#maxWaitMs,
        maxSplitMs: Math.max(minSplitMs, this.#maxWaitMs),
        isFaultOfItem: (error) => exceededLimit(error) || isFaultOfRow(error)
      })
    }
  }

  /** Counts rows, and keeps the group of a client while it has any. */
  #count(client: string, group: Group<Row, Result>, change: 1 | -1): void {
    this.#rowCount += change
    group.rowCount += change

    if (group.rowCount > 0) this.#groups.set(client, group)
    else this.#groups.delete(client)
  }
}

/** Whether a group exceeded the time limit. It had no effect. */
export function exceededLimit(error: unknown): boolean {
  return error instanceof TimeLimitExceeded
}
