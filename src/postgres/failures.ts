import pg from 'pg'
import { messageOf } from '../errors.ts'

/**
 * What follows from an error of PostgreSQL, by its SQLSTATE, or else by the
 * class of the SQLSTATE, its first two characters: 53100 is `retryable`, although
 * 53 is `outcomeUnknown`. The severity cannot be used, because lc_messages
 * translates it.
 *
 * | consequence     | after a write       | after a read        | connection |
 * |-----------------|---------------------|---------------------|------------|
 * | retryable       | DatabaseUnavailable | DatabaseUnavailable | kept       |
 * | staleConnection | DatabaseUnavailable | DatabaseUnavailable | closed     |
 * | outcomeUnknown  | OutcomeUnknown      | DatabaseUnavailable | closed     |
 * | valuesInvalid   | the error itself    | the error itself    | kept       |
 * | other           | the error itself    | the error itself    | closed     |
 *
 * `other` is every error that is not listed.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const sqlStatesByConsequence = {
  /** The statement had no effect, and can be sent again. */
  retryable: [
    '40001', // serialization_failure
    '40P01', // deadlock_detected
    '53100', // disk_full
    '53400', // configuration_limit_exceeded, such as temp_file_limit
    '55P03', // lock_not_available, by lock_timeout
    '57014' // query_canceled, such as by statement_timeout
  ],

  /**
   * The same, but only on another connection: this one, or its prepared
   * statements, are older than a migration, mixed up by a pooler, or of a server
   * that is no longer the primary.
   */
  staleConnection: [
    '0A000', // feature_not_supported: the plan is older than a table
    '25006', // read_only_sql_transaction, after a failover
    '26000', // invalid_sql_statement_name, lost by a pooler
    '42501', // insufficient_privilege: migrate grants what a version needs
    '42P01', // undefined_table: the database is not migrated yet
    '42P05' // duplicate_prepared_statement, kept by a pooler
  ],

  /**
   * The statement may have had an effect. An error normally rolls its
   * transaction back, but these can also come after the commit: if a session
   * ends while it waits for a synchronous standby, if the server runs out of
   * memory for statistics, or from a pooler that has lost the server.
   */
  outcomeUnknown: [
    '08', // connection_exception
    '25', // invalid_transaction_state, such as transaction_timeout
    '28', // invalid_authorization_specification, by a pooler
    '3D', // invalid_catalog_name, by a pooler
    '40003', // statement_completion_unknown
    '53', // insufficient_resources
    '57', // operator_intervention
    '58', // system_error
    'XX' // internal_error
  ],

  /** The values break a rule of the database. */
  valuesInvalid: [
    '22', // data_exception
    '23', // integrity_constraint_violation
    'P0' // raise_exception, by a trigger
  ]
}

type Consequence = keyof typeof sqlStatesByConsequence | 'other'

const consequenceBySqlState = new Map(
  Object.entries(sqlStatesByConsequence).flatMap(([consequence, codes]) =>
    codes.map((code) => [code, consequence as Consequence])
  )
)

/**
 * The C files of PostgreSQL whose errors can follow the commit, whatever their
 * SQLSTATE: those of the write-ahead log and of the status of transactions, after
 * whose errors the server restarts and may keep the commit, and those of the
 * statistics and their shared memory (`ds*.c`).
 */
const filesAfterCommit = /^(xlog|slru|pgstat|ds)/

/**
 * Returns what follows from an error. An error without a SQLSTATE, such as that
 * of a lost connection, leaves it unknown whether there was an effect.
 */
export function consequenceOf(error: unknown): Consequence {
  const { code, file = '' } = postgresErrorIn(error)
  if (code === undefined || filesAfterCommit.test(file)) return 'outcomeUnknown'
  return (
    consequenceBySqlState.get(code) ??
    consequenceBySqlState.get(code.slice(0, 2)) ??
    'other'
  )
}

/** Whether the connection can run the next statement after this error. */
export const keepsConnection = (error: unknown): boolean =>
  ['retryable', 'valuesInvalid'].includes(consequenceOf(error))

/** The fields that PostgreSQL has sent in an error, or in its cause. */
export function postgresErrorIn(error: unknown): Partial<pg.DatabaseError> {
  if (error instanceof pg.DatabaseError) return error
  return error instanceof Error ? postgresErrorIn(error.cause) : {}
}

/**
 * The database cannot run the statement now. The statement had no effect: it
 * can be sent again.
 */
export class DatabaseUnavailableError extends Error {
  readonly code = 'unavailable'

  constructor(cause: unknown) {
    super(`the database is unavailable: ${messageOf(cause)}`, { cause })
  }
}

/**
 * It is not known whether a write took effect, or whether it will survive a
 * failover. The service never sends it again. The response says whether the
 * client may.
 */
export class OutcomeUnknownError extends Error {
  readonly code = 'outcome_unknown'

  constructor(cause: unknown) {
    super('a write may have taken effect: check it', { cause })
  }
}

/**
 * Returns the error for the caller of a failed statement: see the table above.
 *
 * @param isWrite whether the statement has an effect
 */
export function failureOf(error: unknown, isWrite: boolean): unknown {
  switch (consequenceOf(error)) {
    case 'valuesInvalid':
    case 'other':
      return error
    case 'outcomeUnknown':
      return isWrite
        ? new OutcomeUnknownError(error)
        : new DatabaseUnavailableError(error)
    default:
      return new DatabaseUnavailableError(error)
  }
}
