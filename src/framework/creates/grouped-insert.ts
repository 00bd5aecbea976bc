import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { mayBeFaultOfRow, postgresErrorIn } from '../postgres/failures.ts'
import { inputParameters } from '../postgres/sql.ts'
import {
  type InsertDefinition,
  insertStatement,
  type RowOutcome,
  withIdempotencyKeys
} from './insert.ts'

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
   * In the order of the columns. Without an Idempotency-Key, the last two are
   * missing.
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
 *   'in_use' only after DATABASE_TIMEOUT_MS: until then, it tries again. That
 *   time also limits each wait and each attempt, not their sum. It rejects like
 *   `Database.writeAlone`
 */
export function groupedInsert<Body, Params, Status, Schema>(
  database: Database,
  definition: InsertDefinition<Body, Params, Status, Schema>
): (row: Row) => Promise<RowOutcome> {
  const { metrics, timeoutMs: maxWaitMs } = database
  const { withoutKeys, withKeys } = prepareInserts(database, definition)

  function queryOf(rows: Row[]) {
    const haveKeys = rows.some((row) => row.hasIdempotencyKey)
    const { name, text } = haveKeys ? withKeys : withoutKeys
    metrics.groupedWrites.observe({ statement: name }, rows.length)
    const values = inputParameters(rows.map((row) => row.values))
    return { name, text, values }
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

  const inGroup = batch(
    (rows: Row[]): Promise<RowOutcome[]> =>
      database.write<RowOutcome>(queryOf(rows)).catch((error: unknown) => {
        if (!mayBeFaultOfRow(error)) throw error
        // The group stored nothing, because one of the rows was in the way.
        return rows.map(() => ({ outcome: 'blocked' }))
      }),
    { maxSize, maxQueued, maxWaitMs }
  )

  return async (row) => {
    const deadline = performance.now() + maxWaitMs
    let result = await inGroup(row)
    let pauseMs = 0

    // A row of a group that failed runs alone at least once.
    while (
      mayRetry(result) &&
      (pauseMs === 0 || performance.now() < deadline)
    ) {
      await sleep(pauseMs)
      pauseMs = Math.min(2 * pauseMs + firstPauseMs, longestPauseMs)
      result = await attempt(row)
    }

    return result
  }
}

/** Prepares the statement for groups without keys, and the one for others. */
function prepareInserts<Body, Params, Status, Schema>(
  database: Database,
  definition: InsertDefinition<Body, Params, Status, Schema>
) {
  const { operationId } = definition

  return {
    withoutKeys: database.prepare(operationId, insertStatement(definition)),
    withKeys: database.prepare(
      `${operationId}-with-keys`,
      insertStatement(definition, withIdempotencyKeys)
    )
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
