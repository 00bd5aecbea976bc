import pg from 'pg'

/**
 * The kinds of errors, by SQLSTATE, or else by the class of the SQLSTATE: its
 * first two characters. If neither is listed, the error is `permanent`: the
 * statement had no effect, and would fail again. The severity cannot be used,
 * because lc_messages translates it.
 *
 * | kind      | caller gets       | connection | rows of a failed group |
 * |-----------|-------------------|------------|------------------------|
 * | schema    | Unavailable       | closed     | run alone              |
 * | server    | Unavailable       | closed     | fail                   |
 * | conflict  | Unavailable       | kept       | run alone              |
 * | wrong_sql | the error itself  | closed     | run alone              |
 * | doubtful  | OutcomeUnknown    | closed     | fail                   |
 * | permanent | the error itself  | kept       | run alone              |
 *
 * After a read, `doubtful` is Unavailable.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const sqlStatesByKind = {
  /** A privilege, column, function or table is missing. */
  schema: [
    '42501', // insufficient_privilege
    '42703', // undefined_column
    '42883', // undefined_function
    '42P01' // undefined_table
  ],

  /** The server, or the connection, cannot run the statement now. */
  server: [
    '0A000', // feature_not_supported: the plan is older than a DDL
    '25006', // read_only_sql_transaction, after a failover
    '26000', // invalid_sql_statement_name, lost by a pooler
    '42P05', // duplicate_prepared_statement, kept by a pooler
    '53100', // disk_full
    '53400', // configuration_limit_exceeded, such as temp_file_limit
    '57014' // query_canceled
  ],

  /** Another transaction was in the way. */
  conflict: [
    '40001', // serialization_failure
    '40P01', // deadlock_detected
    '55P03' // lock_not_available, such as after lock_timeout
  ],

  /** The SQL is wrong. */
  wrong_sql: [
    '42' // syntax_error_or_access_rule_violation
  ],

  /**
   * The statement may have had an effect. A statement is a transaction, which
   * an error rolls back. But these errors can come after the commit, or from a
   * pooler that has lost the server:
   *
   * - Statistics, written after the commit, may need memory that is not there.
   * - An internal error may follow the commit. PostgreSQL sends it, and then
   *   ends the whole server, because it cannot roll back.
   * - The end of a session may be reported after the commit, for example after
   *   a wait for the synchronous standby.
   * - PgBouncer sends 08P01 when a server closes the connection of a running
   *   statement. Other poolers use 08, 28, 3D, 53, 57, 58 and XX.
   */
  doubtful: [
    '08', // connection_exception
    '25', // invalid_transaction_state, such as transaction_timeout
    '28', // invalid_authorization_specification
    '3D', // invalid_catalog_name
    '40003', // statement_completion_unknown
    '53', // insufficient_resources
    '57', // operator_intervention
    '58', // system_error
    'XX' // internal_error
  ]
}

type ErrorKind = keyof typeof sqlStatesByKind | 'permanent'

const kinds = new Map(
  Object.entries(sqlStatesByKind).flatMap(([kind, codes]) =>
    codes.map((code) => [code, kind as ErrorKind])
  )
)

/**
 * Returns the kind of an error by its SQLSTATE. An error without one, such as
 * that of a lost connection, is doubtful.
 */
export function errorKindOf(error: unknown): ErrorKind {
  const { code, file = '' } = postgresErrorIn(error)
  // If the WAL or the status of a transaction cannot be written (xlog.c,
  // slru.c), PostgreSQL ends, and may recover the commit. Statistics, in shared
  // memory, are written after the commit.
  if (code === undefined || /^(xlog|slru|pgstat|ds)/.test(file))
    return 'doubtful'
  return kinds.get(code) ?? kinds.get(code.slice(0, 2)) ?? 'permanent'
}

/**
 * The fields that PostgreSQL has sent in an error, or in its cause: `code` is
 * the SQLSTATE. Without any, it was another error.
 */
export function postgresErrorIn(error: unknown): Partial<pg.DatabaseError> {
  if (error instanceof pg.DatabaseError) return error
  return error instanceof Error ? postgresErrorIn(error.cause) : {}
}

/**
 * The database cannot run the statement now. The statement had no effect: it
 * can be sent again.
 */
export class Unavailable extends Error {
  readonly code = 'unavailable'

  constructor(reason: string, cause: unknown) {
    super(`the database is unavailable: ${reason}`, { cause })
  }
}

/**
 * It is not known whether a write took effect, or whether it will survive a
 * failover. The service never sends it again. The response says whether the
 * client may.
 */
export class OutcomeUnknown extends Error {
  readonly code = 'outcome_unknown'

  constructor(cause: unknown) {
    super('a write may have taken effect: check it', { cause })
  }
}

/**
 * Returns the error for the caller of a failed statement: Unavailable,
 * OutcomeUnknown, or the error itself if it would occur again.
 *
 * @param isRepeatable whether the statement can be sent again if its outcome is
 *   not known, as a read can
 */
export function failureOf(error: Error, isRepeatable: boolean): Error {
  const kind = errorKindOf(error)
  if (kind === 'permanent' || kind === 'wrong_sql') return error
  return kind === 'doubtful' && !isRepeatable
    ? new OutcomeUnknown(error)
    : new Unavailable(error.message, error)
}

/**
 * Whether one row may have made the whole statement fail: then each row is
 * tried alone. A trigger can raise any error for one row, and row-level
 * security raises 42501.
 */
export const mayBeFaultOfRow = (error: unknown): boolean =>
  !['server', 'doubtful'].includes(errorKindOf(error))
