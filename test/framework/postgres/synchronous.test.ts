import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { shownPartOf } from '../../../src/framework/keys/key.ts'
import { migrate, query } from '../../support/database.ts'
import {
  createKey,
  createNote,
  listNotes,
  startNotes,
  storedNames
} from '../../support/notes.ts'
import { configure, startPostgres } from '../../support/postgres.ts'
import { bearer, codeOrStatus } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const createResult = (service: Service, name: string, key = {}) =>
  codeOrStatus(createNote(service, name, key))
const listResult = (service: Service) => codeOrStatus(listNotes(service))

const postgres = await startPostgres(t)
// The service sets both in each statement.
await query(
  postgres.url,
  `
    ALTER DATABASE postgres SET synchronous_commit = off;
    ALTER DATABASE postgres SET client_min_messages = error
  `
)

/** Evaluates an expression for each create that waits for the standby. */
const selectWaitingCreates = (expression: string) =>
  query(
    postgres.url,
    `
      SELECT ${expression}
      FROM pg_stat_activity
      WHERE wait_event = 'SyncRep'
        AND query LIKE '%INTO notes%'
    `
  )

/** Whether a create waits for the standby. */
const hasWaitingCreates = async () =>
  (await selectWaitingCreates('pid')).length > 0

/** Commits wait for this standby; without a name, all waits end. */
const requireStandby = (name: string) =>
  configure(postgres.url, `synchronous_standby_names = '${name}'`)

/**
 * Sends creates until one waits for the standby: the server applies its
 * settings a moment later. Once a commit waits, all do.
 *
 * @returns the result of the create that waits, in an object, so that the
 *   caller does not wait for it
 */
async function createThatWaits(service: Service) {
  let result: ReturnType<typeof createResult>
  const send = async () => {
    result = createResult(service, 'unknown')
    const wait = until(hasWaitingCreates, 'a create waits').then(() => 'waits')
    return (await Promise.race([result, wait])) === 'waits'
  }

  await until(send, 'a create waits, and has no response')
  return { result: result! }
}

/** Starts a service without its standby, and a create that waits for it. */
async function startWithoutStandby(
  t: Test,
  config = { DATABASE_TIMEOUT_MS: 1000 }
) {
  t.teardown(() => requireStandby(''))
  const service = await startNotes(t, { databaseUrl: postgres.url, config })
  t.equal(await createResult(service, 'before'), 201)

  await requireStandby('missing')
  return { service, ...(await createThatWaits(service)) }
}

t.test('a create is unknown if an operator cancels it', async (t) => {
  const { service, result } = await startWithoutStandby(t, {
    DATABASE_TIMEOUT_MS: 60_000
  })
  t.equal(await listResult(service), 200, 'lists do not wait')

  await selectWaitingCreates('pg_cancel_backend(pid)')
  t.equal(await result, 'outcome_unknown')
})

t.test('a migration holds its locks for no standby', async (t) => {
  // From here on, each commit waits unless its statement says otherwise.
  await query(postgres.url, 'ALTER DATABASE postgres RESET synchronous_commit')
  const { service, result } = await startWithoutStandby(t)
  await result

  const folder = t.testdir({ '0009_next.sql': 'ALTER TABLE notes ADD x int' })
  await migrate(postgres.url, {}, [pathToFileURL(`${folder}/`)])
  t.equal(await listResult(service), 200)
})

t.test('a key in use can be revoked without the standby', async (t) => {
  const apiKey = await createKey(t, postgres.url)
  const { service, result } = await startWithoutStandby(t)
  const list = () => codeOrStatus(listNotes(service, bearer(apiKey)))
  t.equal(await list(), 200)

  await t.rejects(service.keys.revoke(shownPartOf(apiKey)), {
    message: /^The change may have been made: see keys list/
  })
  const isRevoked = async () => (await list()) === 'unauthorized'
  await until(isRevoked, 'the key is rejected')
  await result
})

t.test('a replay waits for the synchronous standby', async (t) => {
  const { service, result } = await startWithoutStandby(t)
  await result

  const keyed = () =>
    createResult(service, 'keyed', { 'idempotency-key': 'key' })
  for (const which of ['the first', 'a replay'])
    t.equal(await keyed(), 'outcome_unknown', which)
  const stored = await storedNames(postgres.url)
  t.equal(stored.filter((name) => name === 'keyed').length, 1)

  await requireStandby('')
  const isReplayed = async () => (await keyed()) === '201 replayed'
  await until(isReplayed, 'it is replayed')
})
