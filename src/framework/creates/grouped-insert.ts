import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'safe-stable-stringify'
import { batch } from '../batch.ts'
import type { Database, Statement } from '../postgres/database.ts'
import { mayBeFaultOfRow, postgresErrorIn } from '../postgres/failures.ts'
import type { RowOutcome } from './insert-statement.ts'

/** Rows that one statement inserts. */
const maxGroupSize = 250

/** Milliseconds before another attempt. They double, up to the longest. */
const firstPauseMs = 50
const longestPauseMs = 400

/** The SQLSTATE after a lock_timeout. */
const lockNotAvailable = '55P03'

/**
 * `plain` is for groups without Idempotency-Keys, `idempotent` for those in
 * which at least one row has one.
 */
type InsertStatements = Record<'plain' | 'idempotent', Statement>

/** An input row. */
interface InsertRow {
  /**
   * In the order of the columns. The last two are the hashes of the
   * Idempotency-Key and of the body, which are missing without a key.
   */
  values: unknown[]
  hasIdempotencyKey: boolean
}

/** Another transaction is in the way. */
interface Conflict {
  outcome: 'blocked' | 'in_use'
}

/** What rejects a row. */
type Rejection =
  | { outcome: 'invalid' }
  /** The row alone made the statement fail. */
  | { outcome: 'failed'; error: unknown }

/** What an attempt did with a row. A group fails if one of its rows does. */
type Attempt<Schema> =
  RowOutcome<Schema> | Rejection | { outcome: 'group_failed' }

/**
 * Inserts single rows with a statement for many. Rows that arrive together
 * share the statement. The next group gathers while one commits, so an idle
 * service adds no delay. If a row makes its group fail, each row of the group
 * runs alone, while the next groups go on.
 *
 * A row waits while another transaction is in the way. If a row with an
 * Idempotency-Key is rejected, it is tried once more, because another replica
 * may have stored the same row meanwhile, and so caused the rejection: then the
 * next attempt finds its record.
 *
 * @returns a function that inserts one row. It resolves with 'blocked' or
 *   'in_use' if the row needs another attempt that cannot begin within
 *   DATABASE_TIMEOUT_MS. It rejects with the errors of `Database.run`, and with
 *   Overloaded if too many rows wait
 */
export function groupedInsert<Schema>(
  database: Database,
  statements: InsertStatements
): (row: InsertRow) => Promise<RowOutcome<Schema>> {
  const { timeoutMs: maxWaitMs } = database
  const inserts = (purpose: 'writes' | 'singleRows') => (rows: InsertRow[]) =>
    insertRows<Schema>(database, purpose, statements, rows)
  const insertInGroup = batch(inserts('writes'), {
    maxSize: maxGroupSize,
    maxWaitMs
  })
  const insertAlone = database.batchOfSingleRows(inserts('singleRows'))

  return async function insertRow(row) {
    const deadline = performance.now() + maxWaitMs
    let insert = insertInGroup
    let pauseMs = firstPauseMs
    let conflict: Conflict = { outcome: 'blocked' }
    let rejection: Rejection | undefined

    do {
      const attempt = await insert(row)
      switch (attempt.outcome) {
        case 'group_failed':
          insert = insertAlone
          break
        case 'blocked':
        case 'in_use':
          conflict = attempt
          await sleep(pauseMs)
          pauseMs = Math.min(2 * pauseMs, longestPauseMs)
          break
        case 'invalid':
        case 'failed':
          if (!row.hasIdempotencyKey || rejection !== undefined)
            return invalidOrThrow(rejection ?? attempt)
          rejection = attempt
          break
        default:
          return attempt
      }
    } while (performance.now() < deadline)

    return conflict
  }
}

/** @throws the error of a row that failed */
function invalidOrThrow(rejection: Rejection): { outcome: 'invalid' } {
  if (rejection.outcome === 'failed') throw rejection.error
  return rejection
}

/** Runs the statement that inserts the rows. */
async function insertRows<Schema>(
  database: Database,
  purpose: 'writes' | 'singleRows',
  { plain, idempotent }: InsertStatements,
  rows: InsertRow[]
): Promise<Attempt<Schema>[]> {
  const isPlain = rows.every((row) => !row.hasIdempotencyKey)
  const statement = isPlain ? plain : idempotent
  // JSON.stringify would reject a bigint.
  const values = [stringify(rows.map((row) => row.values))]

  try {
    return await database.run<RowOutcome<Schema>>(purpose, statement, values)
  } catch (error) {
    if (!mayBeFaultOfRow(error)) throw error
    return rows.map(() =>
      purpose === 'writes' ? { outcome: 'group_failed' } : attemptAfter(error)
    )
  }
}

/** What made the statement of a single row fail. */
function attemptAfter(error: unknown): Rejection | Conflict {
  const { code, constraint, where = '' } = postgresErrorIn(error)
  if (constraint === 'idempotency_keys_pkey') return { outcome: 'in_use' }
  if (code !== lockNotAvailable) return { outcome: 'failed', error }

  // PostgreSQL names the table whose lock it waited for.
  const isOfRecord = where.includes('idempotency_keys')
  return { outcome: isOfRecord ? 'in_use' : 'blocked' }
}
