import pg from 'pg'

/** The database could not do the work for now, and it had no effect: it can be asked again. */
export class Unavailable extends Error {
  constructor(cause: unknown) {
    super('the database is unavailable', { cause })
  }
}

/** The connection was lost while a write was under way: it may or may not have taken effect. Never retried by us. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the outcome of a write is unknown', { cause })
  }
}

/** More is waiting for the database than we queue: it was not asked, and it can be a moment later. */
export class Overloaded extends Error {
  constructor() {
    super('too much is waiting')
  }
}

/**
 * SQLSTATE classes and codes that a later attempt may not meet: connection (08), rollback by conflict (40),
 * resources (53), operator intervention, statement_timeout among it (57), system error (58), lock_not_available,
 * and read_only_sql_transaction, which a failover gives.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const transient = /^(08|40|53|57|58|55P03|25006)/

/** What a failed read is to its caller: Unavailable, or the error itself when it would fail again. */
export function readFailure(error: unknown): Error {
  if (!(error instanceof pg.DatabaseError)) return new Unavailable(error)
  return transient.test(String(error.code)) ? new Unavailable(error) : error
}

/**
 * What a failed write of one statement is to its caller. An ErrorResponse of severity ERROR or FATAL says that the
 * statement was not committed: Postgres sends it before the commit or in its place, never after it. A PANIC
 * may follow a commit record that recovery will find, and a connection that ends without a word says nothing.
 */
export function writeFailure(error: unknown): Error {
  const refused = error instanceof pg.DatabaseError && /^(ERROR|FATAL)$/.test(String(error.severity))
  return refused ? readFailure(error) : new OutcomeUnknown(error)
}

/**
 * Whether Postgres refused a statement for one of the values in it: data exceptions (22), integrity constraints (23), views
 * with a check option (44) and exceptions of triggers (P0). Without that value the statement may pass.
 */
export function isFaultOfValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23|44|P0)/.test(String(error.code))
}
