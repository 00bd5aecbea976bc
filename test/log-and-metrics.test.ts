// What an operator sees: the log and the metrics.
import t from 'tap'
import { sample, successes } from './support/metrics.ts'
import { spawnService, waitForUrl } from './support/process.ts'
import {
  createCategoryRequest,
  fillCategories,
  getRequest,
  keepAlive,
  listCategoriesRequest,
  openConnection,
  send,
  unauthenticated,
  waitForDisconnects
} from './support/raw-http.ts'
import { recorder } from './support/recorder.ts'
import {
  breakCategories,
  createCategory,
  idempotencyKey,
  listCategories,
  statusOrCode
} from './support/requests.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

const { lines, log } = recorder()
const service = await startService(t, { log, config: { METRICS_PORT: 0 } })
const { app, databaseUrl } = service
const [, address = ''] =
  /metrics at (\S+)/.exec(lines.map(({ msg }) => msg).join('\n')) ?? []
t.beforeEach(() => {
  lines.length = 0
})

t.test('a request with a valid API key is a line', async (t) => {
  const headers = { 'X-Request-Id': 'mine', 'X-Forwarded-For': '9.9.9.9, ::1' }
  await send(service, getRequest('/v1/pets?token=secret', headers))
  await waitForDisconnects(service)

  t.equal(lines.length, 1)
  t.match(lines[0], {
    level: 30,
    responseTime: Number,
    reqId: 'mine',
    method: 'GET',
    path: '/v1/pets',
    operation: 'listPets',
    status: 400,
    code: 'invalid_request',
    apiKeyId: 1,
    ip: '::1',
    msg: 'request'
  })
  t.notMatch(JSON.stringify(lines), 'secret')
})

t.test(
  'unauthenticated requests log one line per status and minute, health probes none',
  async (t) => {
    const start = performance.now()
    let passed = 0
    t.intercept(performance, 'now', { value: () => start + passed })
    const other = await startService(t, { log, databaseUrl })
    // The first one says in the log that the database is ready.
    await send(other, getRequest('/readyz', unauthenticated))
    lines.length = 0
    const flood = async () => {
      for (const path of [
        '/nothing',
        '/v1/pets?key=secret',
        '/livez',
        '/readyz'
      ])
        await send(other, getRequest(path, unauthenticated))
      await waitForDisconnects(other)
    }
    await flood()
    await flood()
    t.equal(lines.length, 2)
    t.match(lines, [
      { path: '/nothing', status: 404, requests: 1, code: 'not_found' },
      { path: '/v1/pets', status: 401, requests: 1, code: 'unauthorized' }
    ])

    passed = 60_001
    await flood()
    t.match(lines.slice(2), [{ requests: 2 }, { requests: 2 }])
    t.notMatch(JSON.stringify(lines), 'secret')
  }
)

t.test('a request whose client has left is a line, and an error', async (t) => {
  await fillCategories(databaseUrl)
  const download = openConnection(t, service, listCategoriesRequest(keepAlive))
  await download.responded
  download.socket.destroy()
  await waitForDisconnects(service)
  t.match(lines, [
    { operation: 'listCategories', status: 200, code: 'aborted' }
  ])

  // It is looked up.
  const apiKey = await service.createApiKey('new')
  const lookUps = await successes(app, 'lookUpApiKey')
  const headers = { 'Content-Length': '100', 'X-Request-Id': 'mine' }
  const bytes = createCategoryRequest('{', headers)
  const upload = openConnection(t, { ...service, apiKey }, bytes)
  await until(
    async () => (await successes(app, 'lookUpApiKey')) > lookUps,
    'the API key is valid'
  )
  upload.socket.resetAndDestroy()
  await waitForDisconnects(service)
  const ip = '127.0.0.1'
  t.match(lines[1], { reqId: 'mine', apiKeyId: Number, code: 'aborted', ip })
  t.notOk('status' in Object(lines[1]), 'it had no response')
  t.equal(lines.length, 2)
  const errors = 'http_errors_total{operation="createCategory",code="aborted"}'
  t.equal(await sample(app, errors), 1)
})

t.test('wherever a client sends its API key, no line has it', async (t) => {
  const process = spawnService(t, { DATABASE_URL: databaseUrl })
  const port = Number(new URL(await waitForUrl(process)).port)
  for (const bytes of [
    listCategoriesRequest({
      'X-Request-Id': 'trace.$API_KEY~1',
      'X-Forwarded-For': '$API_KEY'
    }),
    getRequest('/v1/categories?key=$API_KEY'),
    getRequest('/v1/pets/$API_KEY'),
    getRequest(`/v1/pets/${service.apiKey.toUpperCase()}`),
    '$API_KEY\r\n\r\n'
  ])
    await send({ ...service, port }, bytes)

  t.equal(await process.stop(), 0)
  const output = process.output()
  const shown = `"path":"/v1/pets/${service.apiKey.slice(0, 15)}***"`
  t.match(output, shown, 'an operator sees which API key it was')
  t.notMatch(output.toLowerCase(), service.apiKey.slice(-20))
  t.notMatch(output, /"level":[45]0/)
})

t.test('requests, errors and statements are counted', async (t) => {
  const limited = await startService(t, {
    log,
    config: { MAX_REQUESTS_PER_MINUTE: 6, METRICS_PORT: 0 }
  })
  const failed = 'database_errors_total{code="internal_error"}'
  t.equal(await sample(limited.app, failed), 0, 'an alert sees the first')

  await createCategory(limited)
  for (const name of ['x', 'x', 'y'])
    await createCategory(limited, name, idempotencyKey('a'))
  await listCategories(limited)
  await breakCategories(limited.databaseUrl)
  lines.length = 0
  const { body, headers } = await listCategories(limited)
  const ids = { reqId: headers['x-request-id'] }
  t.match(body, 'internal_error')
  t.notMatch(body, 'division by zero')
  t.match(lines, [
    { ...ids, level: 50, err: { message: 'division by zero' } },
    { ...ids, msg: 'request', status: 500, code: 'internal_error' }
  ])
  t.equal(await statusOrCode(listCategories(limited)), 'rate_limited')

  const requests = 'http_request_duration_seconds_count'
  const statements = 'database_statement_duration_seconds_count'
  for (const [series, count] of [
    [failed, 1],
    [`${requests}{operation="createCategory",status="201"}`, 3],
    [`${requests}{operation="listCategories",status="429"}`, 1],
    ['http_errors_total{operation="listCategories",code="internal_error"}', 1],
    [`${statements}{statement="createCategory",result="ok"}`, 1],
    [`${statements}{statement="createCategoryIdempotent",result="ok"}`, 3],
    [`${statements}{statement="listCategories",result="failed"}`, 1]
  ] as const)
    t.equal(await sample(limited.app, series), count, series)
})

t.test('METRICS_PORT serves the metrics, and nothing else does', async (t) => {
  const response = await fetch(address)
  t.match(response.headers.get('content-type'), 'text/plain; version=0.0.4')
  t.match(await response.text(), /^service_ready \d$/m)
  t.equal((await fetch(`${service.url}/metrics`)).status, 404)
  await app.close()
  await t.rejects(fetch(address))
})
