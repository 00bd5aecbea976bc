import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import Fastify from 'fastify'
import t from 'tap'
import { unavailableError } from '../src/errors.ts'
import { sendError, toHttpError } from '../src/http/error-responses.ts'
import { consequenceOf, OutcomeUnknownError } from '../src/postgres/failures.ts'
import { ServerSettingsError } from '../src/postgres/pool.ts'
import {
  throwWithRemedy,
  UnrecoverableDatabaseError
} from '../src/postgres/remedies.ts'
import { commandOf } from '../tools/start/programs.ts'
import { postgresError } from './support/postgres-error.ts'

t.test('an error of a plugin has the Error body, without details', (t) => {
  const ofPlugin = { statusCode: 599, code: 'FST_ERR_X', message: 'secret' }
  for (const thrown of [ofPlugin, undefined]) {
    const { body } = toHttpError(thrown)
    t.match(body, { status: 500, code: 'internal_error' })
    t.notMatch(body.message, 'secret')
  }
  t.end()
})

const idempotent = { 'idempotency-key': 'x' }
const lost = new OutcomeUnknownError(undefined)

/** Failures of requests, and what the responses say about a repetition. */
const failures = [
  ['GET', {}, new Error(), 'true', '1'],
  ['DELETE', {}, lost, 'true', '1'],
  ['POST', {}, new Error(), 'false', undefined],
  ['POST', {}, lost, 'false', undefined],
  ['POST', idempotent, lost, 'true', '1'],
  ['POST', {}, unavailableError, undefined, '1'],
  ['POST', idempotent, postgresError('23514'), undefined, undefined]
] as const

t.test('a response says whether to repeat its request', async (t) => {
  for (const [method, headers, failure, repeat, after] of failures) {
    const app = Fastify()
    app.setErrorHandler(sendError)
    app.decorateRequest('errorCode', undefined)
    app.route({ method, url: '/', handler: () => Promise.reject(failure) })
    const { headers: sent } = await app.inject({ method, url: '/', headers })
    t.same([sent['x-should-retry'], sent['retry-after']], [repeat, after])
  }
})

/** The program of the embedded PostgreSQL, which has the names of its files. */
const postgres = readFileSync(commandOf('postgres', tmpdir()).at(-1) ?? '')

/** SQLSTATEs, the files of PostgreSQL that report them, and what follows. */
const sqlStates = [
  ['53100', 'md.c', 'retryable'],
  ['53100', 'xlog.c', 'outcomeUnknown'],
  ['53100', 'slru.c', 'outcomeUnknown'],
  ['53200', 'pgstat_shmem.c', 'outcomeUnknown'],
  ['23505', 'dsm.c', 'outcomeUnknown'],
  ['40001', 'predicate.c', 'retryable'],
  ['23505', 'nbtinsert.c', 'valuesInvalid']
] as const

t.test('an error from after the commit leaves the outcome unknown', (t) => {
  for (const [code, file, consequence] of sqlStates) {
    const error = postgresError(code, file)
    t.equal(consequenceOf(error), consequence, `${code} of ${file}`)
    t.ok(postgres.includes(file), `PostgreSQL has ${file}`)
  }
  t.end()
})

/** An error of Node.js. */
const nodeError = (code: string) => Object.assign(new Error('no'), { code })

/** What an error says, whose cause or whose cause's cause is this one. */
const cases: [error: Error, says: string | RegExp][] = [
  [postgresError('28000'), 'no: correct the user in DATABASE_URL, or'],
  [postgresError('28P01'), 'no: correct the password in DATABASE_URL'],
  [postgresError('42501'), 'no: run migrate, and grant'],
  [postgresError('57P03'), /^no$/],
  [new ServerSettingsError('read-only'), /^read-only$/],
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
      const isFinal = error instanceof UnrecoverableDatabaseError
      t.equal(isFinal, String(says).startsWith('rejected'))
    }
  }
})
