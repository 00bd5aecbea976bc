// While the synchronous standby is away, nothing that it lacks is acknowledged.
import t, { type Test } from 'tap'
import {
  endStatements,
  migrate,
  query,
  storedNames
} from './support/database.ts'
import {
  configure,
  startDedicatedPostgres
} from './support/dedicated-postgres.ts'
import { commandArgv, runToEnd } from './support/process.ts'
import {
  createCategory,
  idempotencyKey,
  listCategories,
  statusOrCode
} from './support/requests.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

const { url } = await startDedicatedPostgres(t)
// The connections of the service have settings of their own.
await query(
  url,
  `ALTER DATABASE postgres SET synchronous_commit = off;
   ALTER DATABASE postgres SET client_min_messages = error`
)

/** Commits wait for this standby; without a name, all waits end. */
const requireStandby = (name: string) =>
  configure(url, `synchronous_standby_names = '${name}'`)

/** The number of commits of the service that wait for the standby. */
const waitingCommits = async () =>
  (
    await query(
      url,
      `SELECT FROM pg_stat_activity
       WHERE wait_event = 'SyncRep' AND application_name = 'pet-categories'`
    )
  ).length

/**
 * Starts a service without its standby. The server applies its settings a moment
 * later, and once a commit waits, all do.
 */
async function startWithoutStandby(t: Test, timeoutMs: number) {
  t.teardown(() => requireStandby(''))
  const config = { DATABASE_TIMEOUT_MS: timeoutMs }
  const service = await startService(t, { databaseUrl: url, config })
  t.match(
    String(
      await statusOrCode(createCategory(service, 'x', idempotencyKey('before')))
    ),
    /^201/
  )
  await requireStandby('nosuch')
  const isApplied = async () => {
    const [row] = await query(url, 'SHOW synchronous_standby_names')
    return row?.['synchronous_standby_names'] === 'nosuch'
  }
  await until(isApplied, 'the standby is required')
  return service
}

t.test('a create or replay is unknown if its wait is cancelled', async (t) => {
  const service = await startWithoutStandby(t, 60_000)
  for (const value of [undefined, 'new', 'before']) {
    const result = statusOrCode(
      createCategory(service, 'x', idempotencyKey(value))
    )
    await until(waitingCommits, 'a commit waits')
    t.equal(
      await statusOrCode(listCategories(service)),
      200,
      'lists do not wait'
    )
    await endStatements(url, 'pg_cancel_backend')
    t.equal(await result, 'outcome_unknown')
  }

  await requireStandby('')
  await until(
    async () =>
      (await statusOrCode(
        createCategory(service, 'x', idempotencyKey('new'))
      )) === '201 replayed',
    'it is replayed'
  )
  t.equal((await storedNames(url)).length, 3, 'nothing is stored twice')
})

t.test('abandoned writes free their connections', async (t) => {
  const service = await startWithoutStandby(t, 1000)
  // Others wait, too, and are not ended.
  const other = query(
    url,
    "SET synchronous_commit = on; INSERT INTO categories (name) VALUES ('other')"
  )
  for (let round = 0; round < 4; round++)
    t.equal(
      await statusOrCode(createCategory(service, `x ${round}`)),
      'outcome_unknown'
    )
  await until(
    async () => (await waitingCommits()) === 0,
    'no connection of the service waits'
  )

  const [newest] = await query(url, 'SELECT max(id) AS id FROM api_keys')
  const revoke = [...commandArgv('keys'), 'revoke', String(newest?.['id'])]
  // Its own options do not replace those of the command.
  const withOptions = new URL(url)
  withOptions.searchParams.set('options', '-c work_mem=4MB')
  const env = { DATABASE_URL: withOptions.href }
  const revoked = await runToEnd(t, revoke, { env })
  t.equal(revoked.code, 0, revoked.output)
  const isRevoked = async () =>
    (await statusOrCode(listCategories(service))) === 'unauthorized'
  await until(isRevoked, 'the API key is rejected')
  await migrate(url)

  await requireStandby('')
  await t.resolves(other)
})
