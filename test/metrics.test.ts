import t from 'tap'
import { sample } from './support/metrics.ts'
import { recorder } from './support/recorder.ts'
import {
  breakCategories,
  create,
  keyed,
  list,
  outcome
} from './support/requests.ts'
import { startService } from './support/service.ts'

t.test('requests, errors and statements are counted', async (t) => {
  const service = await startService(t, {
    config: { MAX_REQUESTS_PER_MINUTE: 6, METRICS_PORT: 0 }
  })
  const { app, databaseUrl } = service
  const failed = 'database_errors_total{code="internal_error"}'
  t.equal(await sample(app, failed), 0, 'an alert sees the first')

  await create(service)
  for (const name of ['x', 'x', 'y']) await create(service, name, keyed('a'))
  await list(service)
  await breakCategories(databaseUrl)
  t.equal(await outcome(list(service)), 'internal_error')
  t.equal(await outcome(list(service)), 'rate_limited')

  const requests = 'http_request_duration_seconds_count'
  const statements = 'database_statement_seconds_count'
  for (const [series, count] of [
    [failed, 1],
    [`${requests}{operation="createCategory",status="201"}`, 3],
    [`${requests}{operation="listCategories",status="429"}`, 1],
    ['http_errors_total{operation="listCategories",code="internal_error"}', 1],
    [`${statements}{statement="createCategory",outcome="ok"}`, 1],
    [`${statements}{statement="createCategory-idempotent",outcome="ok"}`, 3],
    [`${statements}{statement="listCategories",outcome="failed"}`, 1]
  ] as const)
    t.equal(await sample(app, series), count, series)
})

t.test('METRICS_PORT serves the metrics, and nothing else does', async (t) => {
  const { lines, log } = recorder()
  const config = { METRICS_PORT: 0 }
  const { url, app } = await startService(t, { config, log })
  const [, address = ''] =
    /metrics at (\S+)/.exec(lines.map(({ msg }) => msg).join('\n')) ?? []
  const response = await fetch(address)
  t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
  t.match(await response.text(), /^ready \d$/m)
  t.equal((await fetch(`${url}/metrics`)).status, 404)
  await app.close()
  await t.rejects(fetch(address))
})
