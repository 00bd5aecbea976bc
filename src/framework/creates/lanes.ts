import { cancelledGroups } from '../metrics.ts'
import { GroupTimedOut } from '../postgres/failures.ts'
import { currentSpan, inSpan } from '../tracing/spans.ts'
import { CommonLane } from './common-lane.ts'
import { SlowRowLane } from './slow-row-lane.ts'
import { SuspectLane } from './suspect-lane.ts'
import type { WriteTurns } from './write-turns.ts'

/**
 * Statements in succession that exceed the timeout before it is lifted. One
 * slow row causes up to five: in groups of 250, 16, 4, 2 and 1.
 */
const maxTimeoutsInSuccession = 8

/** Milliseconds for which the timeout is lifted. */
const liftedForMs = 10_000

/** Writes groups of rows: each in one transaction, which it commits. */
export interface GroupWriter<Row, Result> {
  commit: (rows: Row[]) => Promise<Result[]>
  /** Rejects with GroupTimedOut, without effect, if it takes too long. */
  commitWithinGroupTimeout: (rows: Row[]) => Promise<Result[]>
}

/**
 * Writes rows in groups. A slow row, such as one that waits for a lock, delays
 * the others for a limited time. There are three lanes, which do not wait for
 * each other:
 *
 * - common: all rows begin here. A group that exceeds the group timeout is
 *   cancelled, and its rows become suspects.
 * - suspect: smaller groups, each of one client. One that exceeds it is split,
 *   until the slow row is alone.
 * - slow row: each alone, without the timeout. Meanwhile, further rows of its
 *   client become suspects immediately, because they may be just as slow.
 */
export class Lanes<Row, Result> {
  readonly #writer: GroupWriter<Row, Result>
  readonly #timeoutLift = new GroupTimeoutLift()
  readonly #commonLane: CommonLane<Row, Result>
  readonly #suspectLane: SuspectLane<Row, Result>
  readonly #slowRowLane: SlowRowLane<Row, Result>

  /**
   * @param turns of the database that the rows are written to
   * @param maxWaitMs milliseconds that a suspect may wait for its statement
   */
  constructor(
    writer: GroupWriter<Row, Result>,
    turns: WriteTurns,
    maxWaitMs: number
  ) {
    const { suspectTurns, slowRowTurns } = turns
    const commitGroup = (rows: Row[]) => this.#commitGroup(rows)

    this.#writer = writer
    this.#commonLane = new CommonLane(commitGroup)
    this.#suspectLane = new SuspectLane(commitGroup, suspectTurns, maxWaitMs)
    this.#slowRowLane = new SlowRowLane(
      (rows) => writer.commit(rows),
      slowRowTurns
    )
  }

  /**
   * Writes one row, with those that arrive with it.
   *
   * @throws what the writer throws, and Overloaded if too many rows wait
   */
  submit(row: Row, client: string): Promise<Result> {
    return this.#slowRowLane.has(client)
      ? this.#submitToSuspectLane(row, client)
      : this.#submitToCommonLane(row, client)
  }

  async #submitToCommonLane(row: Row, client: string): Promise<Result> {
    const span = currentSpan()

    try {
      return await this.#commonLane.submit(row)
    } catch (error) {
      if (error instanceof GroupTimedOut)
        return inSpan(span, () => this.#submitToSuspectLane(row, client))
      throw error
    }
  }

  async #submitToSuspectLane(row: Row, client: string): Promise<Result> {
    const span = currentSpan()

    try {
      return await this.#suspectLane.submit(row, client)
    } catch (error) {
      if (error instanceof GroupTimedOut)
        return inSpan(span, () => this.#slowRowLane.submit(row, client))
      throw error
    }
  }

  async #commitGroup(rows: Row[]): Promise<Result[]> {
    if (this.#timeoutLift.isLifted()) return this.#writer.commit(rows)

    try {
      const results = await this.#writer.commitWithinGroupTimeout(rows)
      this.#timeoutLift.groupSucceeded()
      return results
    } catch (error) {
      if (error instanceof GroupTimedOut) this.#countCancelledGroup()
      throw error
    }
  }

  #countCancelledGroup(): void {
    cancelledGroups.inc()
    this.#timeoutLift.groupTimedOut()
  }
}

/**
 * Lifts the group timeout while it does not help. If the whole database is
 * slow, smaller groups are as slow as large ones, and make it slower.
 */
class GroupTimeoutLift {
  #timeoutsInSuccession = 0
  #liftedUntil = 0

  isLifted(): boolean {
    return performance.now() < this.#liftedUntil
  }

  groupSucceeded(): void {
    this.#timeoutsInSuccession = 0
  }

  groupTimedOut(): void {
    this.#timeoutsInSuccession++
    if (this.#timeoutsInSuccession < maxTimeoutsInSuccession) return
    this.#timeoutsInSuccession = 0
    this.#liftedUntil = performance.now() + liftedForMs
  }
}
