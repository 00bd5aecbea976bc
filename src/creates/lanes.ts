import { batch } from '../batch.ts'
import { cancelledGroups } from '../metrics.ts'
import type { FairQueue } from '../postgres/fair-queue.ts'
import { isFaultOfRow } from '../postgres/outcomes.ts'
import type { WriteTurns } from '../postgres/write-turns.ts'
import { exceededLimit, Suspects } from './suspects.ts'

/** Rows of one statement. */
const maxGroup = 250

/** Rows that may wait for a statement. */
const maxQueued = 1000

/**
 * Statements in succession that exceed the limit before it is lifted. One slow
 * row causes up to five: in groups of 250, 16, 4, 2 and 1.
 */
const maxExceeded = 8

/** Milliseconds for which the limit is lifted. */
const liftedForMs = 10_000

/** How groups of rows are written: each in one transaction. */
export interface GroupWriter<Row, Result> {
  write: (rows: Row[]) => Promise<Result[]>
  /** Rejects with TimeLimitExceeded, without effect, if it takes long. */
  tryWrite: (rows: Row[]) => Promise<Result[]>
}

/**
 * Writes rows in groups. A slow row, such as one that waits for a lock, delays
 * the others for a limited time. There are three lanes, which do not wait for
 * each other:
 *
 * - common: all rows begin here. A group that exceeds the time limit is
 *   cancelled, and its rows become suspects.
 * - suspects: smaller groups, each of one client. One that exceeds the limit is
 *   split, until the slow row is alone.
 * - slow rows: each alone, without the limit. Meanwhile, further rows of its
 *   client are suspects at once: they may be as slow.
 */
export class Lanes<Row, Result> {
  readonly #writer: GroupWriter<Row, Result>
  readonly #limit = new GroupTimeLimit()
  readonly #common: (row: Row) => Promise<Result>
  readonly #suspects: Suspects<Row, Result>
  readonly #slowRows: FairQueue

  /**
   * @param turns of the database that the rows are written to
   * @param maxWaitMs milliseconds that a suspect may wait for its statement
   */
  constructor(
    writer: GroupWriter<Row, Result>,
    turns: WriteTurns,
    maxWaitMs: number
  ) {
    const writeGroup = (rows: Row[]) => this.#writeGroup(rows)

    this.#writer = writer
    this.#slowRows = turns.slowRows
    this.#suspects = new Suspects(writeGroup, turns.suspects, maxWaitMs)
    this.#common = batch(writeGroup, {
      maxQueued,
      maxSize: maxGroup,
      isFaultOfItem: isFaultOfRow
    })
  }

  /**
   * Writes one row, with those that arrive with it.
   *
   * @throws what the writer throws, and Overloaded if too many rows wait
   */
  write(row: Row, client: string): Promise<Result> {
    return this.#slowRows.has(client)
      ? this.#writeAsSuspect(row, client)
      : this.#writeInCommonLane(row, client)
  }

  async #writeInCommonLane(row: Row, client: string): Promise<Result> {
    try {
      return await this.#common(row)
    } catch (error) {
      if (exceededLimit(error)) return this.#writeAsSuspect(row, client)
      throw error
    }
  }

  async #writeAsSuspect(row: Row, client: string): Promise<Result> {
    try {
      return await this.#suspects.write(row, client)
    } catch (error) {
      if (exceededLimit(error)) return this.#writeAsSlowRow(row, client)
      throw error
    }
  }

  #writeAsSlowRow(row: Row, client: string): Promise<Result> {
    const writeAlone = batch((rows: Row[]) => this.#writer.write(rows))
    return this.#slowRows.run(client, () => writeAlone(row))
  }

  async #writeGroup(rows: Row[]): Promise<Result[]> {
    if (this.#limit.isLifted()) return this.#writer.write(rows)

    try {
      const results = await this.#writer.tryWrite(rows)
      this.#limit.kept()
      return results
    } catch (error) {
      if (exceededLimit(error)) this.#cancelled()
      throw error
    }
  }

  #cancelled(): void {
    cancelledGroups.inc()
    this.#limit.exceeded()
  }
}

/**
 * Lifts the time limit while it does not help. If the whole database is slow,
 * smaller groups are as slow as large ones, and make it slower.
 */
class GroupTimeLimit {
  #exceededInSuccession = 0
  #liftedUntil = 0

  isLifted(): boolean {
    return performance.now() < this.#liftedUntil
  }

  kept(): void {
    this.#exceededInSuccession = 0
  }

  exceeded(): void {
    this.#exceededInSuccession++
    if (this.#exceededInSuccession < maxExceeded) return

    this.#exceededInSuccession = 0
    this.#liftedUntil = performance.now() + liftedForMs
  }
}
