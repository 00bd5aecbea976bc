import { batch } from '../batch.ts'
import { isFaultOfRow } from '../postgres/failures.ts'

/** Rows of one statement. */
const maxGroup = 250

/** Rows that may wait for a statement. */
const maxQueued = 1000

/** Writes rows of all clients, in large groups. */
export class CommonLane<Row, Result> {
  /**
   * Writes one row, together with those that arrive at the same time. A group
   * that exceeds the group timeout is not split here: all its rows become
   * suspects.
   *
   * @throws GroupTimedOut if the group exceeds it, Overloaded if too many rows
   *   wait, and what the writer throws
   */
  readonly submit: (row: Row) => Promise<Result>

  constructor(commitGroup: (rows: Row[]) => Promise<Result[]>) {
    this.submit = batch(commitGroup, {
      name: 'grouped write',
      maxQueued,
      maxSize: maxGroup,
      isFaultOfItem: isFaultOfRow
    })
  }
}
