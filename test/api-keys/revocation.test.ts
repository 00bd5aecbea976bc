import t from 'tap'
import { keyStore } from '../../src/api-keys/store.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { createDatabase, silent } from '../support/database.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

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
