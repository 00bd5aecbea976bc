import { batch } from '../batch.ts'
import { cancelledGroups } from '../metrics.ts'
import { isFaultOfRow } from '../postgres/outcomes.ts'
import { FairQueue } from './fair-queue.ts'
import { isSlow, Suspects } from './suspects.ts'

/** Rows of one statement. */
const maxGroup = 250

/** Rows that may wait for a statement. */
const maxQueued = 1000

/**
 * Statements in succession that exceed the limit before it is lifted, and the
 * milliseconds for which it is. One slow row causes up to five: in groups of
 * 250, 16, 4, 2 and 1.
 */
const maxExceeded = 8
const timeWithoutLimit = 10_000

/** The turns of suspects and slow rows in one database. */
interface Turns {
  suspects: FairQueue
  slowRows: FairQueue
}

/** All tables share them: further connections would be missing for reads. */
const turnsOf = new WeakMap<object, Turns>()

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
 * - shared: all rows begin here. A group that exceeds the time limit is
 *   cancelled, and its rows become suspects.
 * - suspects: smaller groups, each of one client. One that exceeds the limit is
 *   split, until the slow row is alone.
 * - slow rows: each alone, without the limit. Meanwhile, further rows of its
 *   client are suspects at once: they may be as slow.
 */
export class Lanes<Row, Result> {
  readonly #writer: GroupWriter<Row, Result>
  readonly #limit = new GroupTimeLimit()
  readonly #writeShared: (row: Row) => Promise<Result>
  readonly #suspects: Suspects<Row, Result>
  readonly #slowRows: FairQueue

  /**
   * @param database that the rows are written to
   * @param maxWaitMs milliseconds that a suspect, and then a slow row, may wait
   *   for its statement
   */
  constructor(
    writer: GroupWriter<Row, Result>,
    database: object,
    maxWaitMs: number
  ) {
    const writeGroup = (rows: Row[]) => this.#writeGroup(rows)
    const turns = turnsOf.get(database) ?? newTurns(maxWaitMs)
    turnsOf.set(database, turns)

    this.#writer = writer
    this.#slowRows = turns.slowRows
    this.#suspects = new Suspects(writeGroup, turns.suspects, maxWaitMs)
    this.#writeShared = batch(writeGroup, {
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
  async write(row: Row, client: string): Promise<Result> {
    if (!this.#slowRows.has(client)) {
      const shared = await unlessSlow(this.#writeShared(row))
      if (shared !== 'slow') return shared.result
    }

    const suspect = await unlessSlow(this.#suspects.write(row, client))
    if (suspect !== 'slow') return suspect.result

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
      if (isSlow(error)) this.#cancelled()
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
 * smaller groups are as slow as large ones, and only add to its work.
 */
class GroupTimeLimit {
  #exceeded = 0
  #liftedUntil = 0

  isLifted(): boolean {
    return performance.now() < this.#liftedUntil
  }

  kept(): void {
    this.#exceeded = 0
  }

  exceeded(): void {
    this.#exceeded++
    if (this.#exceeded < maxExceeded) return

    this.#exceeded = 0
    this.#liftedUntil = performance.now() + timeWithoutLimit
  }
}

function newTurns(maxWaitMs: number): Turns {
  const waiting = { maxQueued: 250, maxWaitMs }

  return {
    suspects: new FairQueue({ ...waiting, maxRunning: 1 }),
    slowRows: new FairQueue({ ...waiting, maxRunning: 2 })
  }
}

/** Returns 'slow' for a row whose group exceeded the limit. */
async function unlessSlow<Result>(
  writing: Promise<Result>
): Promise<{ result: Result } | 'slow'> {
  try {
    return { result: await writing }
  } catch (error) {
    if (isSlow(error)) return 'slow'
    throw error
  }
}
