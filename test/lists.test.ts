import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { successes } from './support/metrics.ts'
import { create, list, outcome } from './support/requests.ts'
import { startService } from './support/service.ts'

t.test('requests that wait share a read', async (t) => {
  const service = await startService(t)
  await create(service)
  const send = () => list(service)
  await send()
  const responses = await Promise.all(Array.from({ length: 100 }, send))

  for (const { body } of responses) t.equal(body, '[{"id":1,"name":"x"}]')
  const reads = await successes(service.app, 'listCategories')
  t.ok(reads < 25, `${reads} reads`)
})

t.test('If-None-Match gets a 304 until the list changes', async (t) => {
  const service = await startService(t)
  const cacheHeaders = {
    'cache-control': 'private, no-cache',
    vary: /Authorization, Accept-Encoding/
  }
  const first = await list(service)
  t.match(first, { statusCode: 200, headers: cacheHeaders })
  const etag = String(first.headers.etag)

  for (const known of [etag, `"x", ${etag.slice(2)}`, '*'])
    t.match(await list(service, { 'if-none-match': known }), {
      statusCode: 304,
      body: '',
      headers: { ...cacheHeaders, etag, 'content-type': undefined }
    })
  await create(service)
  t.equal(await outcome(list(service, { 'if-none-match': etag })), 200)
})

t.test('a list is compressed for who accepts gzip', async (t) => {
  const service = await startService(t)
  for (let count = 0; count < 100; count++) await create(service)
  const { body } = await list(service)
  for (const accepted of ['Gzip;Q=0.5, identity;Q=0.1', 'gzip, *;q=0']) {
    const response = await list(service, { 'accept-encoding': accepted })
    t.equal(response.headers['content-encoding'], 'gzip', accepted)
    t.equal(gunzipSync(response.rawPayload).toString(), body)
  }
  for (const refused of ['deflate, br', 'gzip;q=0, *']) {
    const response = await list(service, { 'accept-encoding': refused })
    t.equal(response.headers['content-encoding'], undefined, refused)
  }
})
