import { setTimeout as sleep } from 'node:timers/promises'
import { groupedWrites } from '../metrics.ts'
import type { Database } from '../postgres/database.ts'
import { inputParameters } from '../postgres/sql.ts'
import type { NamedQuery } from '../postgres/statements.ts'
import { OutcomeUnknown } from '../postgres/failures.ts'
import { currentSpan, inSpan } from '../tracing/spans.ts'
import type { Claim } from './idempotency-key.ts'
import {
  type InsertDefinition,
  inputValues,
  insertStatement,
  nameOf,
  requireComplete,
  type RowOutcome
} from './insert.ts'
import { insertOnceStatement } from './insert-once.ts'
import { type GroupWriter, Lanes } from './lanes.ts'
import { sharedTurns } from './write-turns.ts'

/** Milliseconds between two attempts to store a row: doubled each time. */
const firstPauseMs = 50
const longestPauseMs = 400

/**
 * Inserts rows into one table. Rows that arrive together share a statement. The
 * next group gathers while one commits, so an idle service adds no delay. A row
 * that PostgreSQL rejects fails alone, and one that is slow waits alone.
 */
export class GroupedInsert<Body, Schema> {
  readonly #definition: InsertDefinition<Body, Schema>
  readonly #timeoutMs: number
  readonly #lanes: Lanes<unknown[], RowOutcome>
  readonly #lanesOfClaims: Lanes<unknown[], RowOutcome>

  /** @throws Error if the definition lacks a column */
  constructor(database: Database, definition: InsertDefinition<Body, Schema>) {
    requireComplete(definition)
    const name = `create-${nameOf(definition)}`
    const once = insertOnceStatement(definition)

    this.#definition = definition
    this.#timeoutMs = database.timeoutMs
    this.#lanes = createLanes(database, name, insertStatement(definition))
    this.#lanesOfClaims = createLanes(database, `${name}-once`, once)
  }

  /**
   * Inserts the row of a body, once for each claim.
   *
   * The outcome is 'held' or 'locked' only after DATABASE_TIMEOUT_MS: until
   * then, the row waits alone, and tries again with later groups.
   *
   * @param client identifies the sender; slow rows of one client do not delay
   *   the rows of another
   * @throws like `Database.write`, and Overloaded if too many rows wait
   */
  insert(
    body: Body,
    claim: Claim | undefined,
    client: string
  ): Promise<RowOutcome> {
    const values = inputValues(this.#definition, body)

    return this.#retryWhileBlocked(() =>
      claim === undefined
        ? this.#lanes.submit(values, client)
        : this.#submitClaim(values, claim, client)
    )
  }

  #submitClaim(
    values: unknown[],
    { idempotencyKeyHash, fingerprint }: Claim,
    client: string
  ): Promise<RowOutcome> {
    return this.#lanesOfClaims
      .submit([...values, idempotencyKeyHash, fingerprint], client)
      .catch(rethrowAsRetryable)
  }

  /** Submits again while another transaction holds the key or a lock. */
  async #retryWhileBlocked(
    submit: () => Promise<RowOutcome>
  ): Promise<RowOutcome> {
    const deadline = performance.now() + this.#timeoutMs
    const span = currentSpan()
    let pauseMs = firstPauseMs

    for (;;) {
      const result = await inSpan(span, submit)
      const isBlocked = result.outcome === 'held' || result.outcome === 'locked'
      if (!isBlocked || performance.now() > deadline) return result

      await sleep(pauseMs)
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    }
  }
}

/** Creates the lanes of the rows that a statement inserts. */
function createLanes(
  database: Database,
  name: string,
  text: string
): Lanes<unknown[], RowOutcome> {
  const statement = database.statements.add(name, text)

  async function writeGroup(
    rows: unknown[][],
    write: (query: NamedQuery) => Promise<RowOutcome[]>
  ): Promise<RowOutcome[]> {
    groupedWrites.observe({ statement: name }, rows.length)
    const outcomes = await write({
      ...statement,
      values: inputParameters(rows)
    })

    return inOrder(outcomes, rows.length, name)
  }

  const writer: GroupWriter<unknown[], RowOutcome> = {
    commit: (rows) => writeGroup(rows, (query) => database.write(query)),

    commitWithinGroupTimeout: (rows) =>
      writeGroup(rows, (query) => database.writeWithinGroupTimeout(query))
  }

  return new Lanes(writer, sharedTurns(database), database.timeoutMs)
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

  if (outcomes.length !== count || !isInOrder) {
    const fault = new Error(
      `${name} did not return one outcome for each row: ` +
        'its check must select each row of input once'
    )
    throw new OutcomeUnknown(fault)
  }

  return outcomes
}

/** The Idempotency-Key makes it safe to send the request again. */
function rethrowAsRetryable(error: unknown): never {
  if (error instanceof OutcomeUnknown)
    throw new OutcomeUnknown(error.cause, 'outcome_unknown_with_key')
  throw error
}
