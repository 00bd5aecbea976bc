import type { Database } from '../postgres/database.ts'
import { FairQueue } from './fair-queue.ts'

/** Statements that may wait for their turn. */
const maxQueued = 250

/** The turns of the lanes for rows that are slow, or may be. */
export class WriteTurns {
  /** For groups that may have a slow row. */
  readonly suspectTurns: FairQueue
  /** For single rows that are slow. */
  readonly slowRowTurns: FairQueue

  /** @param maxWaitMs milliseconds that a statement may wait for its turn */
  constructor(maxWaitMs: number) {
    const waiting = { maxQueued, maxWaitMs }
    this.suspectTurns = new FairQueue({ ...waiting, maxRunning: 1 })
    this.slowRowTurns = new FairQueue({ ...waiting, maxRunning: 2 })
  }
}

const turnsByDatabase = new WeakMap<Database, WriteTurns>()

/**
 * The turns of a database. Writes to all its tables share them, because reads
 * need the other connections.
 */
export function sharedTurns(database: Database): WriteTurns {
  const existing = turnsByDatabase.get(database)
  if (existing !== undefined) return existing

  const turns = new WriteTurns(database.timeoutMs)
  turnsByDatabase.set(database, turns)

  return turns
}
