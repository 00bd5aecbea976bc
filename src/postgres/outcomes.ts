import pg from 'pg'
import { messageOf } from '../log.ts'

/** What an error says about its statement, which had no effect. */
type Meaning =
  /** A privilege, column, function or table is missing. */
  | 'schema'
  /** The connection cannot run the statement; another one may. */
  | 'connection'
  /** The server lacks something for now, or cancelled the statement. */
  | 'resource'
  /** Another transaction was in the way. */
  | 'conflict'
  /** A value is not accepted. */
  | 'value'
  /** The SQL is wrong. */
  | 'statement'

/**
 * SQLSTATEs that prove that a statement had no effect, because only the
 * statement itself causes them. Other codes prove nothing: PgBouncer sends
 * 08P01 when a server closes the connection of a running statement. The
 * severity proves nothing either, because lc_messages translates it.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const meanings: Record<string, Meaning> = {
  '42501': 'schema', // insufficient_privilege
  '42703': 'schema', // undefined_column
  '42883': 'schema', // undefined_function
  '42P01': 'schema', // undefined_table

  '25006': 'connection', // read_only_sql_transaction, after a failover
  '0A000': 'connection', // feature_not_supported, of a plan made before a DDL
  '26000': 'connection', // invalid_sql_statement_name, lost by a pooler
  '42P05': 'connection', // duplicate_prepared_statement, kept by a pooler

  '53100': 'resource', // disk_full
  '53200': 'resource', // out_of_memory
  '55P03': 'resource', // lock_not_available
  '57014': 'resource', // query_canceled

  '40001': 'conflict', // serialization_failure
  '40P01': 'conflict' // deadlock_detected
}

/** The same for classes of SQLSTATEs: their first two characters. */
const meaningsOfClasses: Record<string, Meaning> = {
  '22': 'value', // data_exception
  '23': 'value', // integrity_constraint_violation
  '44': 'value', // with_check_option_violation
  P0: 'value', // PL/pgSQL error: exceptions of triggers

  '42': 'statement' // syntax_error_or_access_rule_violation
}

/** Classes after which the same read may succeed. */
const transientClasses = [
  '08', // connection_exception
  '40', // transaction_rollback
  '53', // insufficient_resources
  '57', // operator_intervention
  '58' // system_error
]

/**
 * Returns what the SQLSTATE of an error means; undefined if it has none, or
 * the statement may have had an effect.
 */
export function meaningOf(error: unknown): Meaning | undefined {
  const code = codeOf(error)
  return meanings[code] ?? meaningsOfClasses[classOf(code)]
}

/** The SQLSTATE of an error of the server; otherwise an empty text. */
const codeOf = (error: unknown): string =>
  error instanceof pg.DatabaseError ? String(error.code) : ''

const classOf = (code: string): string => code.slice(0, 2)

/**
 * The database cannot run the statement now. The statement had no effect: it
 * can be sent again.
 */
export class Unavailable extends Error {
  readonly code = 'unavailable'

  constructor(cause: unknown) {
    super(`the database is unavailable: ${messageOf(cause)}`, { cause })
  }
}

/**
 * It is not known whether a write took effect, or whether it will survive a
 * failover. The service never sends it again. The client may do so if the
 * request had an Idempotency-Key.
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

/**
 * Returns the error for the caller of a failed statement: Unavailable,
 * OutcomeUnknown, or the error itself if it would occur again.
 */
export function failureOf(error: Error, isWrite: boolean): Error {
  switch (meaningOf(error)) {
    case 'value':
    case 'statement':
      return error
    case 'schema':
    case 'connection':
    case 'resource':
    case 'conflict':
      return new Unavailable(error)
    case undefined:
      if (isWrite) return new OutcomeUnknown(error)
      return isTransient(error) ? new Unavailable(error) : error
  }
}

/** Whether a read that failed without a known meaning may succeed later. */
function isTransient(error: Error): boolean {
  const code = codeOf(error)
  const isOfConnection = code === ''
  return isOfConnection || transientClasses.includes(classOf(code))
}

/**
 * Whether one row may have made the whole statement fail: then the statement
 * is worth retrying in halves. A trigger can also raise a conflict.
 */
export function isFaultOfValue(error: unknown): boolean {
  const cause = error instanceof Unavailable ? error.cause : error
  const meaning = meaningOf(cause)
  return meaning === 'value' || meaning === 'conflict'
}
