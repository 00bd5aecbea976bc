import pg from 'pg'
import { messageOf } from '../message-of.ts'

/** What an error says about its statement: it had no effect, or is doubtful. */
type Meaning =
  /** A privilege, column, function or table is missing. */
  | 'schema'
  /** The connection cannot run the statement; another one may. */
  | 'connection'
  /** The server lacks something for now, or cancelled the statement. */
  | 'resource'
  /** Another transaction was in the way. */
  | 'conflict'
  /** A type, a constraint or a trigger does not accept a value. */
  | 'value'
  /** The SQL is wrong. */
  | 'statement'
  /** It may have had an effect, or the error does not come from the server. */
  | 'doubtful'

/**
 * What SQLSTATEs say about a statement. The severity says nothing, because
 * lc_messages translates it.
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
  '53400': 'resource', // configuration_limit_exceeded, such as temp_file_limit
  '57014': 'resource', // query_canceled

  '40001': 'conflict', // serialization_failure
  '40P01': 'conflict', // deadlock_detected
  '55P03': 'conflict', // lock_not_available, such as after lock_timeout

  '40003': 'doubtful' // statement_completion_unknown
}

/**
 * The same for classes of SQLSTATEs: their first two characters.
 *
 * An error in a statement that is its own transaction rolls it back, whatever
 * its SQLSTATE: triggers raise codes of their own. A doubtful code can come
 * after the commit, or from a pooler that has lost the server:
 *
 * - An internal error may follow the commit. PostgreSQL sends it, and then ends
 *   the whole server, because it cannot roll back.
 * - The end of a session may be reported after the commit, for example after a
 *   wait for the synchronous standby.
 * - PgBouncer sends 08P01 when a server closes the connection of a running
 *   statement. Other poolers use 08, 28, 3D, 53, 57, 58 and XX.
 */
const meaningsOfClasses: Record<string, Meaning> = {
  '42': 'statement', // syntax_error_or_access_rule_violation

  '08': 'doubtful', // connection_exception
  '25': 'doubtful', // invalid_transaction_state, such as transaction_timeout
  '28': 'doubtful', // invalid_authorization_specification
  '3D': 'doubtful', // invalid_catalog_name
  '53': 'doubtful', // insufficient_resources
  '57': 'doubtful', // operator_intervention
  '58': 'doubtful', // system_error
  XX: 'doubtful' // internal_error
}

const queryCanceled = '57014'
const lockNotAvailable = '55P03'

/** Classes after which the same read may succeed. */
const transientClasses = [
  '08', // connection_exception
  '40', // transaction_rollback
  '53', // insufficient_resources
  '57', // operator_intervention
  '58' // system_error
]

/** Returns what an error means for its statement, by its SQLSTATE if any. */
export function meaningOf(error: unknown): Meaning {
  const code = sqlStateOf(error)
  if (code === '') return 'doubtful'
  return meanings[code] ?? meaningsOfClasses[classOf(code)] ?? 'value'
}

/** Whether the server has cancelled the statement, before its commit. */
export function isCancelled(error: unknown): boolean {
  return sqlStateOf(error) === queryCanceled
}

/**
 * Returns the name of the constraint or unique index that a statement violates;
 * an empty text for another error.
 */
export function violatedConstraint(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.constraint ?? '') : ''
}

/**
 * Returns where a statement has waited for a lock for too long, in words that
 * name the table; undefined for another error.
 */
export function lockTimeoutContext(error: unknown): string | undefined {
  const cause = causeOf(error)
  const isLockTimeout =
    cause instanceof pg.DatabaseError && cause.code === lockNotAvailable
  return isLockTimeout ? String(cause.where) : undefined
}

/** The SQLSTATE of an error of the server; otherwise an empty text. */
export function sqlStateOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? String(error.code) : ''
}

/** What the server has sent, if it is why the database is unavailable. */
const causeOf = (error: unknown): unknown =>
  error instanceof Unavailable ? error.cause : error

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
 *
 * @param isRepeatable whether the statement can be sent again if its outcome is
 *   not known, as a read can
 */
export function failureOf(error: Error, isRepeatable: boolean): Error {
  switch (meaningOf(error)) {
    case 'value':
    case 'statement':
      return error
    case 'schema':
    case 'connection':
    case 'resource':
    case 'conflict':
      return new Unavailable(error)
    case 'doubtful':
      if (!isRepeatable) return new OutcomeUnknown(error)
      return isTransient(error) ? new Unavailable(error) : error
  }
}

/** Whether a statement whose failure is doubtful may succeed later. */
function isTransient(error: Error): boolean {
  const code = sqlStateOf(error)
  const isOfConnection = code === ''
  return isOfConnection || transientClasses.includes(classOf(code))
}

const faultsOfRow = new Set<Meaning>([
  'value',
  'conflict',
  'statement',
  'schema'
])

/**
 * Whether one row may have made the whole statement fail: then the statement is
 * worth retrying in parts. A trigger can raise any error for one row, and
 * row-level security raises 42501.
 */
export function isFaultOfRow(error: unknown): boolean {
  return faultsOfRow.has(meaningOf(causeOf(error)))
}
