import pg from 'pg'

/** The database cannot do the work now, and the work had no effect: it can be sent again. */
export class Unavailable extends Error {
  constructor(cause: unknown) {
    super('the database is unavailable', { cause })
  }
}

/** Whether a write took effect, or whether it will survive a failover, is not known. We never send it again. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the outcome of a write is unknown', { cause })
  }
}

const hasCode = (error: unknown, codes: RegExp) => error instanceof pg.DatabaseError && codes.test(String(error.code))

/**
 * The errors that another connection may not have: read_only_sql_transaction on a server that a failover demoted, and prepared
 * statements whose result type a migration changed (0A000), or which a pooler has lost (26000) or given twice (42P05).
 */
const ofConnection = /^(25006|0A000|26000|42P05)/

/**
 * SQLSTATE classes and codes that a later attempt may not meet: those of the connection above and its loss (08), transaction
 * rollback (40), resources (53), operator intervention and cancellation (57), system error (58), and lock_not_available.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const transient = /^(08|40|53|57|58|55P03|25006|0A000|26000|42P05)/

/** undefined_table, undefined_column, insufficient_privilege: what a pending migration or a missing grant gives. */
const schemaCodes = /^(42P01|42703|42501)/

/**
 * The errors after which a statement had no effect, because only the statement itself can give them: exceptions of values
 * (22), constraints (23), access (42), check options (44) and triggers (P0), query_canceled, serialization_failure,
 * deadlock_detected, lock_not_available, disk_full, out_of_memory, and the errors of the connection above.
 *
 * Other codes prove nothing. PgBouncer itself sends an ErrorResponse when the server of a running statement closes the
 * connection, always with 08P01 (`disconnect_client` in its objects.c, 1.18 to 1.25). It passes on other codes only from
 * a failed login, to clients whose statement no server has seen. The severity is no criterion: lc_messages translates it.
 */
const withoutEffect = /^(22|23|42|44|P0|57014|40001|40P01|55P03|53100|53200|25006|0A000|26000)/

/** Whether the statement failed by itself, so that its connection can be used again. */
export const isOfStatement = (error: unknown): boolean => hasCode(error, withoutEffect) && !hasCode(error, ofConnection)

/** Whether tables or privileges are not what this version needs. */
export const isOfSchema = (error: unknown): boolean => hasCode(error, schemaCodes)

/** Whether statements got in each other's way: the database itself works. */
export const isConflict = (error: unknown): boolean => hasCode(error, /^40/)

/** What a failed read is to its caller: Unavailable, or the error itself when it would fail again. */
export function readFailure(error: unknown): Error {
  const isLasting = error instanceof pg.DatabaseError && !hasCode(error, transient) && !isOfSchema(error)
  return isLasting ? error : new Unavailable(error)
}

/** What a failed write of one statement is to its caller: as a read, or OutcomeUnknown. */
export function writeFailure(error: unknown): Error {
  return hasCode(error, withoutEffect) ? readFailure(error) : new OutcomeUnknown(error)
}

/**
 * Whether Postgres rejected a statement for one of the values in it, so that it may pass without that value: exceptions
 * of values (22), constraints (23), check options (44) and triggers (P0), and conflicts, which a trigger can raise too.
 */
export function isFaultOfValue(error: unknown): boolean {
  const cause = error instanceof Unavailable ? error.cause : error
  return hasCode(cause, /^(22|23|44|P0|40001|40P01)/)
}
