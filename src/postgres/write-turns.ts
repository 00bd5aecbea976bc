import { FairQueue } from './fair-queue.ts'

/** Statements that may wait for their turn. */
const maxQueued = 250

/**
 * The turns of writes that may be slow. Writes to all tables share them,
 * because further connections would be missing for reads.
 */
export class WriteTurns {
  /** Turns of groups that may have a slow row. */
  readonly suspects: FairQueue
  /** Turns of single rows that are slow. */
  readonly slowRows: FairQueue

  /** @param maxWaitMs milliseconds that a statement may wait for its turn */
  constructor(maxWaitMs: number) {
    const waiting = { maxQueued, maxWaitMs }

    this.suspects = new FairQueue({ ...waiting, maxRunning: 1 })
    this.slowRows = new FairQueue({ ...waiting, maxRunning: 2 })
  }
}
