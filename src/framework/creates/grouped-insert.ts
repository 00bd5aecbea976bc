import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { mayBeFaultOfRow, postgresErrorIn } from '../postgres/failures.ts'
import { inputParameters } from '../postgres/sql.ts'
import type { InsertStatements, RowOutcome } from './insert.ts'

/** Rows of one statement. */
const maxSize = 250

/** Rows that may wait for a statement. */
const maxQueued = 1000

/** Milliseconds between two attempts to store a row: they become longer. */
const firstPauseMs = 50
const longestPauseMs = 400

/** The SQLSTATE after a lock_timeout. */
const lockNotAvailable = '55P03'

/** An input row. */
interface Row {
  /**
   * In the order of the columns. The last two are the hashes of the
   * Idempotency-Key and of the body, which are missing without a key.
   */
  values: unknown[]
  hasIdempotencyKey: boolean
}

/**
 * Inserts single rows by a statement for many. Rows that arrive together share
 * it. The next group gathers while one commits, so an idle service adds no
 * delay. If a row makes its group fail, each row of the group runs alone, while
 * the next groups go on.
 *
 * @returns a function that inserts one row. It resolves with 'blocked' or
 *   'in_use' only after DATABASE_TIMEOUT_MS: until then, it tries again. Each
 *   wait and each attempt may take that long, so the sum is larger. It rejects
 *   like `Database.writeAlone`
 */
export function groupedInsert(
  database: Database,
  { withoutKeys, withKeys }: InsertStatements
): (row: Row) => Promise<RowOutcome> {
  const { metrics, timeoutMs: maxWaitMs } = database

  function queryOf(rows: Row[]) {
    const haveKeys = rows.some((row) => row.hasIdempotencyKey)
    const statement = haveKeys ? withKeys : withoutKeys
    const values = inputParameters(rows.map((row) => row.values))
    return { ...statement, values }
  }

  async function attempt(row: Row): Promise<RowOutcome> {
    try {
      const [result] = await database.writeAlone<RowOutcome>(queryOf([row]))
      // The statement returns a row for each input row.
      return result as RowOutcome
    } catch (error) {
      return { outcome: obstacleOf(error) }
    }
  }

  async function insertGroup(rows: Row[]): Promise<RowOutcome[]> {
    const query = queryOf(rows)
    metrics.groupedWrites.observe({ statement: query.name }, rows.length)
    try {
      return await database.write<RowOutcome>(query)
    } catch (error) {
      if (!mayBeFaultOfRow(error)) throw error
      // The group stored nothing, because one of the rows was in the way.
      return rows.map(() => ({ outcome: 'blocked' }))
    }
  }

  const inGroup = batch(insertGroup, { maxSize, maxQueued, maxWaitMs })

  return async (row) => {
    const deadline = performance.now() + maxWaitMs
    let result = await inGroup(row)
    // A row of a group that failed runs alone at least once.
    if (mayRetry(result)) result = await attempt(row)

    let pauseMs = firstPauseMs
    while (mayRetry(result) && performance.now() < deadline) {
      await sleep(pauseMs)
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
      result = await attempt(row)
    }

    return result
  }
}

/** Whether another transaction was in the way. */
const mayRetry = ({ outcome }: RowOutcome) =>
  outcome === 'blocked' || outcome === 'in_use'

/**
 * How another transaction has made a statement fail.
 *
 * @throws the error if none has
 */
function obstacleOf(error: unknown): 'blocked' | 'in_use' {
  const { code, constraint, where = '' } = postgresErrorIn(error)
  if (constraint === 'idempotency_keys_pkey') return 'in_use'
  if (code !== lockNotAvailable) throw error

  // PostgreSQL names the table whose lock it waited for.
  return where.includes('idempotency_keys') ? 'in_use' : 'blocked'
}
