import t from 'tap'
import { idempotencyKeyMeasurer } from '../../../src/framework/creates/measure-idempotency-keys.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import { serveNotes } from '../../support/notes.ts'
import { until } from '../../support/until.ts'

/** Stores 30 keys, and lets PostgreSQL count them. */
async function storeKeys(url: string): Promise<void> {
  await query(
    url,
    `INSERT INTO idempotency_keys (key, fingerprint, response)
     SELECT sha256(n::text::bytea), sha256('x'), '{}'
     FROM generate_series(1, 30) AS n`
  )
  await query(url, 'ANALYZE idempotency_keys')
}

t.test('the rows are estimated', async (t) => {
  const url = await createDatabase(t)
  const measure = idempotencyKeyMeasurer(openDatabase(t, url))
  const estimate = async () => {
    await measure()
    return sample('idempotency_keys_rows')
  }
  t.equal(await estimate(), 0)

  await storeKeys(url)
  t.equal(await estimate(), 30)
})

t.test('a service with METRICS_PORT estimates them', async (t) => {
  const url = await createDatabase(t)
  await storeKeys(url)
  const service = serveNotes(t, { METRICS_PORT: '0', DATABASE_URL: url })
  const [, endpoint = ''] = await service.sees(/metrics at (http:\S+\/metrics)/)

  const rows = async () =>
    sample('idempotency_keys_rows', (await fetch(endpoint)).text())
  await until(async () => (await rows()) === 30, 'the rows are estimated', 60)
  t.equal(await service.stop(), 0)
})
