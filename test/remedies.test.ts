import pg from 'pg'
import t from 'tap'
import { throwWithRemedy, UnusableDatabase } from '../src/postgres/remedies.ts'
import { UnsuitableServer } from '../src/postgres/pool.ts'

/** An error of PostgreSQL. */
const postgresError = (code: string) =>
  Object.assign(new pg.DatabaseError('no', 2, 'error'), { code })

/** An error of Node.js. */
const nodeError = (code: string) => Object.assign(new Error('no'), { code })

/** What an error says, whose cause or whose cause's cause is this one. */
const cases: [error: Error, says: string | RegExp][] = [
  [postgresError('28000'), 'no: correct the user in DATABASE_URL, or'],
  [postgresError('28P01'), 'no: correct the password in DATABASE_URL'],
  [postgresError('42501'), 'no: run migrate, and grant'],
  [postgresError('57P03'), /^no$/],
  [new UnsuitableServer('read-only'), /^read-only$/],
  [nodeError('CERT_HAS_EXPIRED'), 'rejected: no: correct it, or sslmode'],
  [nodeError('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'rejected: no: correct it']
]

t.test('an error of the database tells its remedy', (t) => {
  t.plan(2 * cases.length)
  for (const [cause, says] of cases) {
    try {
      throwWithRemedy(new Error('outer', { cause }))
    } catch (error) {
      t.match(error, { message: says })
      // The start ends, because waiting does not help.
      const isFinal = error instanceof UnusableDatabase
      t.equal(isFinal, String(says).startsWith('rejected'))
    }
  }
})
