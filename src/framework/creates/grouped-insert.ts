import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import {
  isFaultOfRow,
  lockTimeoutContext,
  violatedConstraint
} from '../postgres/failures.ts'
import { inputParameters } from '../postgres/sql.ts'
import type { RowOutcome } from './insert.ts'

/** Rows of one statement. */
const maxSize = 250

/** Rows that may wait for a statement. */
const maxQueued = 1000

/** Rows that may run alone at the same time: reads need other connections. */
const maxAlone = 2

/** Milliseconds between two attempts to store a row: they become longer. */
const firstPauseMs = 50
const longestPauseMs = 400

/** Values of an input row, in the order of its columns. */
type Row = unknown[]

/**
 * What became of one row, which had no effect if another transaction was in the
 * way:
 *
 * - locked: it has locked something that the row needs.
 * - held: it is about to record the same Idempotency-Key.
 */
type Outcome = RowOutcome | { outcome: 'locked' | 'held' }

/**
 * Inserts single rows by a statement for many. Rows that arrive together share
 * it. The next group gathers while one commits, so an idle service adds no
 * delay. If a row makes its group fail, the rows of the group run alone, while
 * the next groups go on.
 *
 * @param text takes `inputParameters`, and returns a RowOutcome for each row
 * @returns a function that inserts one row. It resolves with 'locked' or 'held'
 *   only after DATABASE_TIMEOUT_MS: until then, it tries again. It rejects like
 *   `Database.write`, and with Overloaded if too many rows wait
 */
export function groupedInsert(
  database: Database,
  name: string,
  text: string
): (row: Row) => Promise<Outcome> {
  const statement = database.statements.add(name, text)
  const limits = { maxQueued, maxWaitMs: database.timeoutMs }

  async function insertRows(rows: Row[]): Promise<Outcome[]> {
    const { groupedWrites } = database.metrics
    groupedWrites.observe({ statement: name }, rows.length)
    const values = inputParameters(rows)
    try {
      return await database.write<RowOutcome>({ ...statement, values })
    } catch (error) {
      // One of them was in the way of the others.
      if (rows.length > 1 && isFaultOfRow(error))
        return rows.map(() => ({ outcome: 'locked' }))

      const outcome = obstacleOf(error)
      if (outcome === undefined) throw error
      return [{ outcome }]
    }
  }

  const inGroup = batch(insertRows, { ...limits, maxSize })
  const alone = batch(insertRows, { ...limits, maxSize: 1, maxRuns: maxAlone })

  return async (row) => {
    const deadline = performance.now() + database.timeoutMs
    let pauseMs = 0
    let result = await inGroup(row)

    while (isBlocked(result) && performance.now() < deadline) {
      await sleep(pauseMs)
      pauseMs = Math.min(2 * pauseMs + firstPauseMs, longestPauseMs)
      result = await alone(row)
    }

    return result
  }
}

const isBlocked = ({ outcome }: Outcome) =>
  outcome === 'locked' || outcome === 'held'

/** How another transaction has made a statement fail, if one has. */
function obstacleOf(error: unknown): 'locked' | 'held' | undefined {
  if (violatedConstraint(error) === 'idempotency_keys_pkey') return 'held'

  const context = lockTimeoutContext(error)
  if (context === undefined) return undefined
  return context.includes('idempotency_keys') ? 'held' : 'locked'
}
