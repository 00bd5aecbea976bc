import t from 'tap'
import { bearer } from '../../support/requests.ts'
import { createDatabase, lockTable, query } from '../../support/database.ts'
import { createKey, listNotes, startNotes } from '../../support/notes.ts'
import { startProxy } from '../../support/proxy.ts'
import { sample } from '../../support/metrics.ts'
import { until } from '../../support/until.ts'

const waiting = `
  SELECT pid
  FROM pg_stat_activity
  WHERE query LIKE 'UPDATE api_keys%'
    AND datname = current_database()
    AND wait_event_type = 'Lock'`

const used = 'SELECT FROM api_keys WHERE last_used_at IS NOT NULL'

t.test('requests do not wait until uses are recorded', async (t) => {
  const config = { DATABASE_TIMEOUT_MS: 2000 }
  const service = await startNotes(t, { config })
  const { databaseUrl } = service
  const apiKey = await createKey(t, databaseUrl)
  const other = { ...service, auth: bearer(apiKey) }
  const lock = await lockTable(t, databaseUrl, 'api_keys IN SHARE MODE')

  const attempts = new Set<unknown>()
  const hasTriedAgain = async () => {
    t.equal((await listNotes(service)).statusCode, 200)
    t.equal((await listNotes(other)).statusCode, 200)
    const updates = await query(databaseUrl, waiting)
    t.ok(updates.length <= 1)
    for (const { pid } of updates) attempts.add(pid)
    return attempts.size >= 2
  }
  await until(hasTriedAgain, 'two attempts have been made')
  await lock.release()

  const areUsed = async () => (await query(databaseUrl, used)).length === 2
  await until(areUsed, 'both uses are recorded')
})

for (const statement of ['look-up-api-keys', 'applied-migrations'])
  t.test(`a frozen connection of ${statement} stops no request`, async (t) => {
    const proxy = await startProxy(t, await createDatabase(t))
    const databaseUrl = proxy.url
    const config = { DATABASE_TIMEOUT_MS: 20_000 }
    const service = await startNotes(t, { databaseUrl, config })
    let frozen = 0
    proxy.state.freezes = (chunk) => {
      if (frozen > 0 || !chunk.includes(statement)) return false
      frozen++
      return true
    }

    // Each key needs a look-up, which may follow a frozen one.
    for (let count = 0; count < 16; count++) {
      const auth = bearer(await service.keys.create('another'))
      const list = listNotes(service, auth)
      const readiness = service.app.inject('/readyz')
      t.equal((await list).statusCode, 200)
      t.equal((await readiness).statusCode, 200)
    }
    t.equal(frozen, 1)
    const failed = 'database_errors_total{code="unavailable"}'
    t.equal(await sample(service.app, failed), 0, 'it is still frozen')
    proxy.cut()
  })

t.test('every replica rejects a revoked key within a second', async (t) => {
  const databaseUrl = await createDatabase(t)
  const first = await startNotes(t, { databaseUrl })
  const second = await startNotes(t, { databaseUrl })
  const statuses = () =>
    Promise.all(
      [first, second].map(({ app }) =>
        app
          .inject({ url: '/v1/notes', headers: first.auth })
          .then(({ statusCode }) => statusCode)
      )
    )

  t.same(await statuses(), [200, 200])
  await first.keys.revoke('1')
  const revokedAt = performance.now()
  while (performance.now() < revokedAt + 1000) await statuses()
  t.same(await statuses(), [401, 401])
})
