import pg from 'pg'
import { messageOf } from '../errors.ts'
import { ServerSettingsError } from './pool.ts'

/** The database will not become usable by waiting for it. */
export class UnrecoverableDatabaseError extends Error {}

/** What to do about a database that cannot be used, by SQLSTATE. */
const remedies: Record<string, string> = {
  '28000': 'correct the user in DATABASE_URL, or pg_hba.conf',
  '28P01': 'correct the password in DATABASE_URL',
  '3D000': 'create the database, or correct DATABASE_URL',
  '42501': 'run migrate, and grant pet_categories_service to the user',
  '42P01': 'run migrate'
}

/** When PostgreSQL has not answered. */
const connectionRemedy = 'start the database, or correct DATABASE_URL'

/** The codes of Node.js for a certificate of the server that it rejects. */
const certificateCode = /CERT|_SIGNATURE$/

/**
 * Throws the reason why a database cannot be used, and its remedy, in one
 * line.
 */
export function throwWithRemedy(error: unknown): never {
  if (error instanceof UnrecoverableDatabaseError) throw error
  const cause = rootOf(error)
  const code = String(cause.code)
  if (certificateCode.test(code)) {
    throw new UnrecoverableDatabaseError(
      `the certificate of the database is rejected: ${messageOf(cause)}: ` +
        'correct it, or sslmode and sslrootcert in DATABASE_URL',
      { cause }
    )
  }
  const isResponse =
    cause instanceof pg.DatabaseError || cause instanceof ServerSettingsError
  const remedy = isResponse ? remedies[code] : connectionRemedy
  const message = [messageOf(cause), remedy].filter(Boolean).join(': ')
  throw new Error(message, { cause })
}

/** The innermost cause. */
function rootOf(error: unknown): NodeJS.ErrnoException {
  const { cause } = error as Error
  return cause === undefined ? (error as NodeJS.ErrnoException) : rootOf(cause)
}
