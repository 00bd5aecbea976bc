import t from 'tap'
import { bearer, codeOrStatus } from '../../support/requests.ts'
import { createDatabase, lockTable, query } from '../../support/database.ts'
import { listNotes, startNotes } from '../../support/notes.ts'
import { startProxy } from '../../support/proxy.ts'
import { sample } from '../../support/metrics.ts'
import { until } from '../../support/until.ts'

t.test('requests do not wait until uses are recorded', async (t) => {
  const config = { DATABASE_TIMEOUT_MS: 1000 }
  const service = await startNotes(t, { config })
  const { app, databaseUrl, key, keys } = service
  const other = await keys.create('other')
  const useBoth = async () => {
    for (const one of [key, other])
      t.equal(await codeOrStatus(listNotes(service, bearer(one))), 200)
  }

  const lock = await lockTable(t, databaseUrl, 'api_keys IN SHARE MODE')
  const hasFailed = async () => {
    await useBoth()
    return sample(
      app,
      'database_statement_seconds_count{statement="record-use-of-api-keys",outcome="timeout"}'
    )
  }
  await until(hasFailed, 'an attempt to record them has failed')
  await lock.release()

  const used = 'SELECT FROM api_keys WHERE last_used_at IS NOT NULL'
  const areUsed = async () => {
    await useBoth()
    return (await query(databaseUrl, used)).length === 2
  }
  await until(areUsed, 'both uses are recorded')
})

for (const statement of ['look-up-api-keys', 'applied-migrations'])
  t.test(`a frozen connection of ${statement} stops no request`, async (t) => {
    const proxy = await startProxy(t, await createDatabase(t))
    const databaseUrl = proxy.url
    const config = { DATABASE_TIMEOUT_MS: 20_000 }
    const service = await startNotes(t, { databaseUrl, config })
    let isFrozen = false
    proxy.state.loses = (chunk) => {
      const isFirst = !isFrozen && chunk.includes(statement)
      isFrozen ||= isFirst
      return isFirst
    }

    const list = await listNotes(service)
    const readiness = await service.app.inject('/readyz')
    t.same([list.statusCode, readiness.statusCode], [200, 200])
    t.ok(isFrozen)
    proxy.cut()
  })

t.test('every replica rejects a revoked key within a second', async (t) => {
  const now = performance.now()
  let passed = 0
  t.intercept(performance, 'now', { value: () => now + passed })
  const databaseUrl = await createDatabase(t)
  const replicas = [
    await startNotes(t, { databaseUrl }),
    await startNotes(t, { databaseUrl })
  ]
  const { key, keys } = replicas[0]!
  const list = () =>
    Promise.all(
      replicas.map((replica) => codeOrStatus(listNotes(replica, bearer(key))))
    )

  t.same(await list(), [200, 200])
  await keys.revoke('1')
  passed = 500
  // A use does not prolong the trust.
  await list()
  passed = 1000
  t.same(await list(), ['unauthorized', 'unauthorized'])
})
