import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { mayBeFaultOfRow, postgresErrorIn } from '../postgres/failures.ts'
import { inputParameters } from '../postgres/sql.ts'
import type { InsertStatements, RowOutcome } from './insert-statement.ts'

/** Rows of one statement. */
const maxSize = 250

/** Milliseconds before another attempt. They double, up to the longest. */
const firstPauseMs = 50
const longestPauseMs = 400

/** The SQLSTATE after a lock_timeout. */
const lockNotAvailable = '55P03'

/** An input row. */
interface InsertRow {
  /**
   * In the order of the columns. The last two are the hashes of the
   * Idempotency-Key and of the body, which are missing without a key.
   */
  values: unknown[]
  hasIdempotencyKey: boolean
}

/** What a group did with a row. It failed if one of its rows made it fail. */
type GroupOutcome = RowOutcome | { outcome: 'group_failed' }

/**
 * Inserts single rows with a statement for many. Rows that arrive together
 * share the statement. The next group gathers while one commits, so an idle
 * service adds no delay. If a row makes its group fail, each row of the group
 * runs alone, while the next groups go on.
 *
 * @returns a function that inserts one row. It resolves with 'blocked' or
 *   'in_use' only when no attempt can begin within DATABASE_TIMEOUT_MS: until
 *   then, it tries again. It rejects like `Database.write`, and with Overloaded
 *   if too many rows wait
 */
export function groupedInsert(
  database: Database,
  statements: InsertStatements
): (row: InsertRow) => Promise<RowOutcome> {
  const { metrics, timeoutMs: maxWaitMs } = database

  async function insertAlone(row: InsertRow): Promise<RowOutcome> {
    try {
      const query = queryOf([row], statements)
      const [result] = await database.writeSingleRow<RowOutcome>(query)
      // The statement returns a row for each input row.
      return result as RowOutcome
    } catch (error) {
      return { outcome: outcomeAfter(error) }
    }
  }

  async function insertGroup(rows: InsertRow[]): Promise<GroupOutcome[]> {
    const query = queryOf(rows, statements)
    metrics.groupedWrites.observe({ statement: query.name }, rows.length)
    try {
      return await database.write<RowOutcome>(query)
    } catch (error) {
      if (!mayBeFaultOfRow(error)) throw error
      return rows.map(() => ({ outcome: 'group_failed' }))
    }
  }

  const insertInGroup = batch(insertGroup, { maxSize, maxWaitMs })

  return (row) => insertRow(row, insertInGroup, insertAlone, maxWaitMs)
}

/**
 * Inserts a row in a group, and alone if its group fails. Tries again while
 * another transaction is in the way.
 */
async function insertRow(
  row: InsertRow,
  insertInGroup: (row: InsertRow) => Promise<GroupOutcome>,
  insertAlone: (row: InsertRow) => Promise<RowOutcome>,
  maxWaitMs: number
): Promise<RowOutcome> {
  const deadline = performance.now() + maxWaitMs
  let insert = insertInGroup
  let pauseMs = firstPauseMs

  for (;;) {
    const result = await insert(row)
    switch (result.outcome) {
      case 'group_failed':
        // This row may be the one that made it fail.
        insert = insertAlone
        break
      case 'blocked':
      case 'in_use':
        if (performance.now() + pauseMs >= deadline) return result
        await sleep(pauseMs)
        pauseMs = Math.min(2 * pauseMs, longestPauseMs)
        break
      default:
        return result
    }
  }
}

/** The statement that inserts the rows. */
function queryOf(rows: InsertRow[], { plain, idempotent }: InsertStatements) {
  const isPlain = rows.every((row) => !row.hasIdempotencyKey)
  const statement = isPlain ? plain : idempotent
  return {
    ...statement,
    values: inputParameters(rows.map((row) => row.values))
  }
}

/**
 * How another transaction has made a statement fail.
 *
 * @throws the error if none has
 */
function outcomeAfter(error: unknown): 'blocked' | 'in_use' {
  const { code, constraint, where = '' } = postgresErrorIn(error)
  if (constraint === 'idempotency_keys_pkey') return 'in_use'
  if (code !== lockNotAvailable) throw error

  // PostgreSQL names the table whose lock it waited for.
  return where.includes('idempotency_keys') ? 'in_use' : 'blocked'
}
