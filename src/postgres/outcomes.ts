import pg from 'pg'
import { oneLine } from '../log.ts'

/**
 * SQLSTATEs, or classes of them, that prove that a statement had no effect, because only the statement itself causes them.
 * Other codes prove nothing: PgBouncer sends 08P01 when a server closes the connection of a running statement. Nor does the
 * severity, which lc_messages translates.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const meanings = [
  // Missing privilege, column, function or table.
  ['schema', /42501|42703|42883|42P01/],
  // A server that a failover made read-only; prepared statements that a migration changed, or a pooler lost or repeated.
  ['connection', /25006|0A000|26000|42P05/],
  // Disk full, out of memory, a lock that is not available, a cancelled statement.
  ['resource', /53100|53200|55P03|57014/],
  // Serialization failures and deadlocks.
  ['conflict', /40001|40P01/],
  // Data exceptions, constraints, check options, exceptions of triggers.
  ['value', /^(22|23|44|P0)/],
  // Syntax errors and access rules.
  ['statement', /^42/]
] as const

/** Returns the meaning of an error's SQLSTATE; undefined if the statement may have had an effect. */
export function meaningOf(error: unknown) {
  const code = error instanceof pg.DatabaseError ? String(error.code) : ''
  return meanings.find(([, codes]) => codes.test(code))?.[0]
}

/** The database cannot run the statement now, and the statement had no effect: it can be sent again. */
export class Unavailable extends Error {
  readonly code = 'unavailable'
  constructor(cause: unknown) {
    super(`the database is unavailable: ${oneLine(cause)}`, { cause })
  }
}

/**
 * It is not known whether a write took effect, or whether it will survive a failover. The service never sends it again. The
 * client may do so if the request had an Idempotency-Key.
 */
export class OutcomeUnknown extends Error {
  readonly code: 'outcome_unknown' | 'outcome_unknown_with_key'
  constructor(
    cause: unknown,
    code: OutcomeUnknown['code'] = 'outcome_unknown'
  ) {
    super('the outcome of a write is unknown', { cause })
    this.code = code
  }
}

/** The error for the caller of a failed statement: Unavailable, OutcomeUnknown, or the error itself if it would occur again. */
export function failureOf(error: Error, isWrite: boolean): Error {
  const meaning = meaningOf(error)
  if (meaning === 'value' || meaning === 'statement') return error
  if (meaning !== undefined) return new Unavailable(error)
  if (isWrite) return new OutcomeUnknown(error)
  // Another attempt may succeed after connection errors, rollbacks, lack of resources, operators and system errors.
  const isLasting =
    error instanceof pg.DatabaseError &&
    !/^(08|40|53|57|58)/.test(String(error.code))
  return isLasting ? error : new Unavailable(error)
}

/** Whether a statement may succeed without one of its values. A trigger can also raise a conflict. */
export function isFaultOfValue(error: unknown): boolean {
  const meaning = meaningOf(error instanceof Unavailable ? error.cause : error)
  return meaning === 'value' || meaning === 'conflict'
}
