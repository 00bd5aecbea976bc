import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import {
  isFaultOfRow,
  lockTimeoutContext,
  OutcomeUnknown,
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

/** Milliseconds between two attempts to store a row: doubled each time. */
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

/** The group of the row has failed, without effect: the row must run alone. */
const groupFailed = { outcome: 'group_failed' } as const
type GroupFailed = typeof groupFailed

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

  async function insertRows(rows: Row[]): Promise<RowOutcome[]> {
    const { groupedWrites } = database.metrics
    groupedWrites.observe({ statement: name }, rows.length)
    const values = inputParameters(rows)
    const outcomes = await database.write<RowOutcome>({ ...statement, values })

    return inOrder(outcomes, rows.length, name)
  }

  async function insertGroup(rows: Row[]): Promise<(Outcome | GroupFailed)[]> {
    try {
      return await insertRows(rows)
    } catch (error) {
      const isOfAnother = rows.length > 1 && isFaultOfRow(error)
      if (isOfAnother || obstacleOf(error)) return rows.map(() => groupFailed)
      throw error
    }
  }

  async function insertAlone(rows: Row[]): Promise<Outcome[]> {
    try {
      return await insertRows(rows)
    } catch (error) {
      const outcome = obstacleOf(error)
      if (outcome === undefined) throw error
      return [{ outcome }]
    }
  }

  const inGroup = batch(insertGroup, {
    ...limits,
    name: 'grouped write',
    maxSize
  })
  const alone = batch(insertAlone, {
    ...limits,
    name: 'single write',
    maxSize: 1,
    maxRuns: maxAlone
  })

  return (row) => insertUntilUnblocked(row, inGroup, alone, database.timeoutMs)
}

/** Tries again while another transaction is in the way. */
async function insertUntilUnblocked(
  row: Row,
  inGroup: (row: Row) => Promise<Outcome | GroupFailed>,
  alone: (row: Row) => Promise<Outcome>,
  timeoutMs: number
): Promise<Outcome> {
  const deadline = performance.now() + timeoutMs
  let submit = inGroup
  let pauseMs = firstPauseMs

  for (;;) {
    const result = await submit(row)

    if (result.outcome === 'group_failed') {
      submit = alone
      continue
    }

    const isBlocked = result.outcome === 'locked' || result.outcome === 'held'
    if (!isBlocked || performance.now() > deadline) return result

    await sleep(pauseMs)
    pauseMs = Math.min(2 * pauseMs, longestPauseMs)
  }
}

const keysTable = 'idempotency_keys'

/** How another transaction has made a statement fail, if one has. */
function obstacleOf(error: unknown): 'locked' | 'held' | undefined {
  if (violatedConstraint(error) === `${keysTable}_pkey`) return 'held'

  const context = lockTimeoutContext(error)
  if (context === undefined) return undefined
  return context.includes(keysTable) ? 'held' : 'locked'
}

/**
 * Returns the outcomes if they can be matched with the requests. Otherwise, a
 * client would get the response to another request.
 *
 * @throws OutcomeUnknown, because the statement has been committed
 */
function inOrder(
  outcomes: RowOutcome[],
  count: number,
  name: string
): RowOutcome[] {
  const isInOrder = outcomes.every(
    ({ ordinal }, index) => ordinal === index + 1
  )
  if (outcomes.length === count && isInOrder) return outcomes

  const fault = new Error(
    `${name} did not return one outcome for each row: ` +
      'its check must select each row of input once'
  )
  throw new OutcomeUnknown(fault)
}
