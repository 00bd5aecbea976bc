import { hash } from 'node:crypto'

/**
 * A template tag for SQL. Fragments become part of the SQL as they are: never
 * insert a value of a request, but pass it as `$1`.
 *
 * @example rawSql`SELECT ${columns} FROM pets`
 */
export const rawSql = String.raw

/**
 * The SHA-256 of a text, as PostgreSQL reads a bytea: pg would take longer for
 * a Buffer.
 */
export const sha256Bytea = (text: string): string =>
  `\\x${hash('sha256', text, 'hex')}`
