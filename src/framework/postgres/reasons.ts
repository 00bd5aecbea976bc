import { messageOf } from '../message-of.ts'
import { sqlStateOf } from './failures.ts'

/** What the operator can do about a reason. */
interface Remedy {
  /** Matches the SQLSTATE, which may be empty, a space, and the message. */
  reason: RegExp
  remedy: string
  /** Says the reason more clearly than its message. */
  words?: string
  /** What is wrong, if that is not DATABASE_URL. */
  variable?: string
}

const remedies: Remedy[] = [
  {
    reason: /Invalid URL|URI malformed/,
    words: 'it is not a valid URL',
    remedy:
      'percent-encode special characters of the password, ' +
      'and write the port as a number'
  },
  {
    reason: /names several servers|server is read-only/,
    remedy:
      'write the one address that leads to the primary, such as that of ' +
      'HAProxy, or of the service -rw in Kubernetes'
  },
  {
    reason: /client password must be a string/,
    words: 'it has no password, and the server asks for one',
    remedy: 'write postgres://USER:PASSWORD@HOST'
  },
  {
    reason: /^28/, // invalid_authorization_specification, invalid_password
    remedy: 'correct its user or password'
  },
  {
    reason: /^3D000/, // invalid_catalog_name
    remedy: 'create it, or correct its name'
  },
  {
    reason: /^42704 .*role/, // undefined_object, of a GRANT
    variable: 'DATABASE_SERVICE_ROLE',
    remedy: 'create it, or correct its name'
  },
  {
    reason: /^42501 .*schema/, // insufficient_privilege
    remedy:
      'grant its user CREATE on the schema, ' +
      'or run `npm run migrate` as another user'
  },
  {
    reason: /^(55P03|40P01)/, // lock_not_available, deadlock_detected
    variable: 'the database',
    remedy: 'end the transaction that is in the way (see pg_stat_activity)'
  },
  {
    reason: /, open '/,
    remedy: 'correct sslrootcert, sslcert or sslkey'
  },
  {
    reason: /does not support SSL/,
    remedy: 'enable TLS in the server, or write sslmode=disable'
  },
  {
    reason: /self-signed certificate|unable to (get|verify)/,
    remedy: 'write sslrootcert=FILE with the certificate of its authority'
  },
  {
    // Errors of the connection, such as ECONNREFUSED.
    reason: /^ .*(\bE[A-Z]{4}|timeout|terminated)/,
    remedy: 'correct its host or port, or start PostgreSQL there'
  }
]

/**
 * Why a database cannot be used: an error whose message is one line, with the
 * reason. If a remedy is known, it names the variable and the remedy.
 */
export function unusableDatabase(error: unknown): Error {
  const message = messageOf(error)
  const text = `${sqlStateInside(error)} ${message}`
  const match = remedies.find(({ reason }) => reason.test(text))
  if (match === undefined) return unusable('the database', message, error)

  const { variable = 'DATABASE_URL', words = message, remedy } = match

  return unusable(variable, `${words}: ${remedy}`, error)
}

const unusable = (what: string, reason: string, cause: unknown) =>
  new Error(`${what} cannot be used: ${reason}`, { cause })

/**
 * The SQLSTATE of an error or of one of its causes; otherwise an empty text.
 */
export function sqlStateInside(error: unknown): string {
  const isWrapped = error instanceof Error && sqlStateOf(error) === ''
  return isWrapped ? sqlStateInside(error.cause) : sqlStateOf(error)
}
