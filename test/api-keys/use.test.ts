import t from 'tap'
import { keyStore } from '../../src/api-keys/store.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { createDatabase, lockTable, query, silent } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const list = async ({ app, auth }: Service) => (await app.inject({ url: '/v1/categories', headers: auth })).statusCode
const noting = "FROM pg_stat_activity WHERE query LIKE 'UPDATE api_keys%' AND datname = current_database()"

t.test('while api_keys is read-only, requests succeed and at most one connection waits', async (t) => {
  const databaseUrl = await createDatabase(t)
  const service = await startService(t, { databaseUrl, config: { DATABASE_TIMEOUT: 2000, DATABASE_POOL_SIZE: 2 } })
  const lock = await lockTable(t, databaseUrl, 'api_keys IN SHARE MODE')
  const attempts = new Set<unknown>()
  const failures: unknown[] = []
  const observe = async () => {
    const status = await list(service)
    const waiting = await query(databaseUrl, `SELECT pid ${noting} AND wait_event_type = 'Lock'`)
    for (const { pid } of waiting) attempts.add(pid)
    if (status !== 200 || waiting.length > 1) failures.push({ status, waiting })
  }
  await until(() => observe().then(() => attempts.size >= 2), 'two attempts have been made')
  await lock.release()
  const used = "SELECT FROM api_keys WHERE last_used_at = date_trunc('minute', last_used_at)"
  const isUsed = async () => (await list(service)) === 200 && (await query(databaseUrl, used)).length > 0
  await until(isUsed, 'it is recorded to the minute')
  t.same(failures, [])
})

t.test('under load, every replica rejects a revoked key within a second', async (t) => {
  const databaseUrl = await createDatabase(t)
  const first = await startService(t, { databaseUrl })
  const replicas = [first, await startService(t, { databaseUrl })]
  let revokedAt = Infinity
  const before: number[] = []
  const clients = replicas.map(async ({ url }) => {
    const after: number[] = []
    while (after.length < 100) {
      const sentAt = performance.now()
      const { status, body } = await fetch(`${url}/v1/categories`, { headers: first.auth })
      await body?.cancel()
      if (sentAt < revokedAt) before.push(status)
      else if (sentAt >= revokedAt + 1000) after.push(status)
    }
    return after
  })
  await until(() => before.length >= 100, 'the key is in use')
  const database = openDatabase({ url: databaseUrl, poolSize: 1, timeout: 5000 }, silent)
  await keyStore(database).revoke('1')
  revokedAt = performance.now()
  await database.close()
  const after = (await Promise.all(clients)).flat()
  t.same([before.includes(200), after.includes(200)], [true, false])
})
