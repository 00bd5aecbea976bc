import t from 'tap'
import { createDatabase, lockTable, query } from '../../support/database.ts'
import { startNotes } from '../../support/notes.ts'
import { until } from '../../support/until.ts'

const waiting = `SELECT pid FROM pg_stat_activity
  WHERE query LIKE 'UPDATE api_keys%' AND datname = current_database() AND wait_event_type = 'Lock'`

t.test(
  'while api_keys is read-only, requests succeed and at most one connection waits',
  async (t) => {
    const config = { DATABASE_TIMEOUT_MS: 2000, MAX_DATABASE_CONNECTIONS: 2 }
    const { app, auth: headers, databaseUrl } = await startNotes(t, { config })
    const listStatus = async () =>
      (await app.inject({ url: '/v1/notes', headers })).statusCode

    const lock = await lockTable(t, databaseUrl, 'api_keys IN SHARE MODE')
    const attempts = new Set<unknown>()
    const failures: unknown[] = []
    const observe = async () => {
      const status = await listStatus()
      const updates = await query(databaseUrl, waiting)
      for (const { pid } of updates) attempts.add(pid)
      if (status !== 200 || updates.length > 1)
        failures.push({ status, updates })
    }

    await until(
      () => observe().then(() => attempts.size >= 2),
      'two attempts have been made'
    )
    await lock.release()

    const used = `SELECT FROM api_keys
      WHERE last_used_at = date_trunc('minute', last_used_at)`
    const isUsed = async () =>
      (await listStatus()) === 200 &&
      (await query(databaseUrl, used)).length > 0
    await until(isUsed, 'it is recorded to the minute')

    t.same(failures, [])
  }
)

t.test(
  'under load, every replica rejects a revoked key within a second',
  async (t) => {
    const databaseUrl = await createDatabase(t)
    const first = await startNotes(t, { databaseUrl })
    const replicas = [first, await startNotes(t, { databaseUrl })]

    let revokedAt = Infinity
    const before: number[] = []
    const clients = replicas.map(async ({ url }) => {
      const after: number[] = []
      while (after.length < 100) {
        const sentAt = performance.now()
        const { status, body } = await fetch(`${url}/v1/notes`, {
          headers: first.auth
        })
        await body?.cancel()
        if (sentAt < revokedAt) before.push(status)
        else if (sentAt >= revokedAt + 1000) after.push(status)
      }

      return after
    })

    await until(() => before.length >= 100, 'the key is in use')
    await first.keys.revoke('1')
    revokedAt = performance.now()

    const after = new Set((await Promise.all(clients)).flat())
    t.same([before.includes(200), ...after], [true, 401])
  }
)
