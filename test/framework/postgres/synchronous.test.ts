import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { ApiKeyStore } from '../../../src/framework/keys/store.ts'
import { migrate, openDatabase, query, silent } from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import * as notes from '../../support/notes.ts'
import { apiKeyPrefix, createKey, startNotes } from '../../support/notes.ts'
import { configure, startPostgres } from '../../support/postgres.ts'
import { cancelRequest, startProxy } from '../../support/proxy.ts'
import { bearer, codeOrStatus } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const createResult = (service: Service, name: string, key = {}) =>
  codeOrStatus(notes.createNote(service, name, key))
const listResult = (service: Service) => codeOrStatus(notes.listNotes(service))

const postgres = await startPostgres(t)

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

/** Number of notes with this name. */
async function countOf(name: string): Promise<number> {
  const byName = 'SELECT FROM notes WHERE name = $1'
  return (await query(postgres.url, byName, [name])).length
}

const requireStandby = (name: string) =>
  configure(postgres.url, `synchronous_standby_names = '${name}'`)

/** Requires no standby, and ends the waits of earlier commits. */
async function requireNoStandby() {
  await requireStandby('')
  await query(
    postgres.url,
    `SELECT pg_cancel_backend(pid)
     FROM pg_stat_activity
     WHERE wait_event = 'SyncRep'`
  )
}

/** Requires no standby, and resolves when creates work again. */
async function recover(service: Service) {
  await requireNoStandby()
  const isStored = async () => (await createResult(service, 'after')) === 201
  await until(isStored, 'creates work again')
}

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
  config: { DATABASE_TIMEOUT_MS: number }
) {
  t.teardown(requireNoStandby)
  const { lines, log } = recorder()
  const proxy = await startProxy(t, postgres.url)
  const databaseUrl = proxy.url
  const service = await startNotes(t, { databaseUrl, config, log })
  t.equal(await createResult(service, 'before'), 201)

  await requireStandby('missing')
  return { proxy, service, lines, ...(await createThatWaits(service)) }
}

// The service sets both in each statement.
await query(
  postgres.url,
  `
    ALTER DATABASE postgres SET synchronous_commit = off;
    ALTER DATABASE postgres SET client_min_messages = error
  `
)

/** Ends the wait for the standby: an operator does, or the service. */
const cancel = 'pg_cancel_backend(pid)'

for (const end of [cancel, '']) {
  t.test(`the outcome of a create is unknown after ${end}`, async (t) => {
    const { service, result, lines } = await startWithoutStandby(t, {
      DATABASE_TIMEOUT_MS: end === '' ? 1000 : 60_000
    })
    if (end !== '') await selectWaitingCreates(end)
    t.equal(await result, 'outcome_unknown')

    const outages = lines.filter(
      ({ msg }) => msg === 'the database is unavailable for writes'
    )
    t.equal(outages.length, 1)
    t.not(await countOf('unknown'), 0, 'it is stored here')
    t.notOk(await hasWaitingCreates())
    await recover(service)
  })
}

/** Lists without a pause until the promise settles. Returns the results. */
async function listUntil(service: Service, promise: Promise<unknown>) {
  const results = new Set<unknown>()
  let isPending = true
  const settle = () => {
    isPending = false
  }
  promise.then(settle, settle)

  while (isPending) results.add(await listResult(service))

  return results
}

t.test('lists work while creates wait for the standby', async (t) => {
  const { service, result } = await startWithoutStandby(t, {
    DATABASE_TIMEOUT_MS: 1000
  })
  t.equal(await result, 'outcome_unknown')

  const create = createResult(service, 'a')
  t.same(await listUntil(service, create), new Set([200]))
  t.equal(await create, 'outcome_unknown')
  await recover(service)
})

t.test('a migration holds its locks for no standby', async (t) => {
  const { service, result } = await startWithoutStandby(t, {
    DATABASE_TIMEOUT_MS: 1000
  })
  await result

  const folder = t.testdir({ '0009_next.sql': 'ALTER TABLE notes ADD x int' })
  const url = `${postgres.url}?options=-c%20synchronous_commit%3Don`
  await migrate(url, {}, [pathToFileURL(`${folder}/`)])
  t.equal(await listResult(service), 200)
})

t.test('a key in use can be revoked without the standby', async (t) => {
  const apiKey = await createKey(t, postgres.url)
  const database = openDatabase(t, postgres.url, 1000)
  const store = new ApiKeyStore(database, apiKeyPrefix, silent)
  const id = String((await store.list()).at(-1)?.['id'])
  const { service, result } = await startWithoutStandby(t, {
    DATABASE_TIMEOUT_MS: 5000
  })
  const auth = bearer(apiKey)
  const list = () => listResult({ ...service, auth })
  t.equal(await list(), 200)

  await t.rejects(store.revoke(id), {
    message: /^The change may have been made: see keys list/
  })
  const isRevoked = async () => (await list()) === 'unauthorized'
  await until(isRevoked, 'the key is rejected')
  await result
})

t.test('a replay waits for the synchronous standby', async (t) => {
  const { service, result } = await startWithoutStandby(t, {
    DATABASE_TIMEOUT_MS: 1000
  })
  await result

  const keyed = () =>
    createResult(service, 'keyed', { 'idempotency-key': 'key' })
  for (const which of ['the first', 'a replay'])
    t.equal(await keyed(), 'outcome_unknown', which)
  t.equal(await countOf('keyed'), 1, 'it is stored here')

  await requireNoStandby()
  const isReplayed = async () => (await keyed()) === '201 replayed'
  await until(isReplayed, 'it is replayed')
})

t.test('creates that cannot be cancelled end at the server', async (t) => {
  const { proxy, service, result } = await startWithoutStandby(t, {
    DATABASE_TIMEOUT_MS: 1000
  })
  proxy.state.resets = (chunk) => chunk.includes(cancelRequest)

  t.equal(await result, 'outcome_unknown')
  t.equal(await createResult(service, 'unknown'), 'outcome_unknown')
  await until(async () => !(await hasWaitingCreates()), 'no create waits')
  t.equal(await listResult(service), 200)
})
