import { messageOf } from '../message-of.ts'
import { postgresErrorIn } from './failures.ts'

/**
 * What the operator can do about a reason, which matches the SQLSTATE, if any,
 * a space, and the message.
 */
const remedies: [reason: RegExp, remedy: string][] = [
  [
    /Invalid URL|URI malformed/,
    'in DATABASE_URL, percent-encode special characters of the password, ' +
      'and write one host, with a numeric port'
  ],
  [/is read-only/, 'write the address of the primary in DATABASE_URL'],
  [
    // invalid_authorization_specification, invalid_password
    /client password must be|^28/,
    'correct the user or password in DATABASE_URL'
  ],
  [
    /^3D000/, // invalid_catalog_name
    'create it, or correct its name in DATABASE_URL'
  ],
  [
    /^42704 .*role/, // undefined_object, of a GRANT
    'create it, or correct DATABASE_SERVICE_ROLE'
  ],
  [
    /^42501 .*schema/, // insufficient_privilege
    'grant CREATE on it to the user in DATABASE_URL, ' +
      'or run `npm run migrate` as another user'
  ],
  [
    /^ E\w+: .*, open '|support SSL|self-signed|unable to (get|verify)/,
    'correct sslmode, sslrootcert, sslcert or sslkey in DATABASE_URL'
  ],
  [
    /^ (Query read timeout|the server did not end)/,
    'it is slow: see docs/runbook.md'
  ],
  [
    /^ .*(connect|getaddrinfo|timeout|terminated|ECONN)/i,
    'correct the host or port in DATABASE_URL, or start PostgreSQL there'
  ]
]

/**
 * Returns the error that says why a database cannot be used. Its message is one
 * line with the reason, and with the remedy if one is known.
 */
export function unusableDatabase(error: unknown): Error {
  const message = messageOf(error)
  const { code = '' } = postgresErrorIn(error)
  const [, remedy] =
    remedies.find(([reason]) => reason.test(`${code} ${message}`)) ?? []
  const hint = remedy === undefined ? '' : `: ${remedy}`

  return new Error(`the database cannot be used: ${message}${hint}`, {
    cause: error
  })
}
