// What anybody can get, and send, who has no API key.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { document } from './support/examples.ts'
import {
  getRequest,
  openConnection,
  request,
  send,
  unauthenticated,
  waitForDisconnects
} from './support/raw-http.ts'
import { recorder } from './support/recorder.ts'
import { startService } from './support/service.ts'

const { lines, log } = recorder()
const service = await startService(t, { log })
const { app } = service

t.test(
  'the document is the hand-written file, and the same JSON',
  async (t) => {
    const yaml = await app.inject('/openapi.yaml')
    t.same(yaml.rawPayload, readFileSync('openapi.yaml'))
    t.same((await app.inject('/openapi.json')).json(), document)
  }
)

t.test('the docs page needs no API key, and only its own files', async (t) => {
  const { body, headers } = await app.inject('/docs/')
  t.match(body, '<title>Pet Categories</title>')
  t.notMatch(body, /(src|href)="\//)
  const policy = String(headers['content-security-policy'])
  t.match(policy, "script-src 'self'")
  t.match(policy, "frame-ancestors 'none'")
  t.notMatch(policy, /upgrade-insecure-requests|https?:/)
})

// A proxy may strip a prefix such as /shop, so no link starts with a slash.
t.test('the docs page works below any prefix', async (t) => {
  for (const [path, target] of [
    ['/', 'docs/'],
    ['/docs?from=mail', 'docs/'],
    ['/docs/static/index.html', '../'],
    ['/docs/yaml', '../openapi.yaml']
  ] as const) {
    const { statusCode, headers } = await app.inject(path)
    t.same([statusCode, headers.location], [302, target], path)
  }
  const { servers } = (await app.inject('/docs/json')).json<typeof document>()
  t.same(servers, [{ url: '../v1' }])
})

t.test('strange requests for files of the page have errors', async (t) => {
  for (const [path, headers, status] of [
    ['%2e%2e%2f%2e%2e%2fpackage.json', {}, 404],
    ['%00', {}, 404],
    ['logo.svg', { Range: 'bytes=99999999-' }, 416],
    ['logo.svg', { 'If-Match': '"x"' }, 412]
  ] as const) {
    const bytes = getRequest(`/docs/static/${path}`, headers)
    const response = await send(service, bytes)
    t.equal(response.status, status, path)
    t.match(JSON.parse(response.body), { status })
  }
})

const strange = ['%00', '.', '%2e%2e/x', 'x'.repeat(256), '%2F', '%ff', '%zz']
const paths = ['/', '/docs', '/openapi.json', '/livez', '/v1/pets/x', '*', '//']
const requests: [line: string, headers?: object][] = [
  ...strange.map((name): [string] => [`GET /docs/static/${name}`]),
  ...['HEAD', 'POST', 'OPTIONS', 'TRACE', 'FOO'].flatMap((method) =>
    paths.map((path): [string] => [`${method} ${path}`])
  ),
  ['GET /v1/pets?%00'],
  ['GET /v1/pets', { Upgrade: 'x', Connection: 'upgrade, close' }],
  ['GET /v1/pets', { Expect: 'x' }],
  ['GET /v1/pets', { Host: undefined }],
  ['GET /v1/pets', { 'X-Long': 'x'.repeat(20_000) }],
  ['GET /v1/pets', { Authorization: `Bearer ${'x'.repeat(9000)}` }]
]

t.test('no unauthenticated request gets a 5xx, or an error line', async (t) => {
  lines.length = 0
  const statuses = new Set<number>()
  for (const [line, more] of requests) {
    const bytes = request(line, { ...unauthenticated, ...more })
    const { status } = await send(service, bytes)
    statuses.add(status)
    t.ok(status < 500, `${status} ${bytes}`)
  }
  // Aborted downloads.
  const download = request(
    'GET /docs/static/swagger-ui-bundle.js',
    unauthenticated
  )
  for (let count = 0; count < 20; count++) {
    const client = openConnection(t, service, download)
    await client.responded
    client.socket.resetAndDestroy()
  }
  await waitForDisconnects(service)

  t.ok(lines.length <= statuses.size, `${lines.length} lines`)
  for (const line of lines)
    t.match(line, { level: 30, msg: 'requests without a valid API key' })
})
