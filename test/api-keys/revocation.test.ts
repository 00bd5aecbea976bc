import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openDatabase } from '../../src/postgres/database.ts'
import { keyStore } from '../../src/api-keys/store.ts'
import { createDatabase, query, silent } from '../support/database.ts'
import { startService } from '../support/service.ts'

const endListening =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"

for (const [title, isChannelDown] of [
  ['a key that is revoked under load ends on every replica within a second', false],
  ['it does when the notification is lost, too', true]
] as const) {
  t.test(title, async (t) => {
    const databaseUrl = await createDatabase(t)
    const first = await startService(t, { databaseUrl })
    const replicas = [first, await startService(t, { databaseUrl })]
    const answers: { sentAt: number; status: number }[] = []
    let stopped = false
    const clients = replicas.flatMap(({ url }) =>
      Array.from({ length: 8 }, async () => {
        while (!stopped) {
          const sentAt = performance.now()
          const { status, body } = await fetch(`${url}/v1/categories`, { headers: first.auth })
          await body?.cancel()
          answers.push({ sentAt, status })
        }
      })
    )
    await setTimeout(1000)
    if (isChannelDown) t.ok((await query(databaseUrl, endListening)).length >= 2)
    const database = openDatabase({ url: databaseUrl, poolSize: 1, timeout: 5000 }, silent)
    await keyStore(database).revoke(1n, 'test')
    const revokedAt = performance.now()
    await database.close()
    await setTimeout(2000)
    stopped = true
    await Promise.all(clients)
    const statuses = (from: number, to: number) => [
      ...new Set(
        answers
          .filter(({ sentAt }) => sentAt >= revokedAt + from && sentAt < revokedAt + to)
          .map(({ status }) => status)
      )
    ]
    t.same(statuses(-1000, 0).includes(200), true)
    t.notOk(statuses(1000, Infinity).includes(200))
    t.ok(answers.filter(({ sentAt }) => sentAt > revokedAt + 1000).length > 50)
  })
}
