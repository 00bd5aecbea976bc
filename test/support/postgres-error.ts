import pg from 'pg'

/** An error as PostgreSQL sends it, with its SQLSTATE and the file that reports it. */
export const postgresError = (code: string, file?: string) =>
  Object.assign(new pg.DatabaseError('no', 2, 'error'), { code, file })
