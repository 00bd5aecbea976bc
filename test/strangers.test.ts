// What anybody can send who has no API key.
import t from 'tap'
import {
  anonymous,
  disconnected,
  openConnection,
  request,
  send
} from './support/raw.ts'
import { recorder } from './support/recorder.ts'
import { startService } from './support/service.ts'

const { lines, log } = recorder()
const service = await startService(t, { log })

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

t.test('no request of a stranger gets a 5xx, or an error line', async (t) => {
  lines.length = 0
  const statuses = new Set<number>()
  for (const [line, more] of requests) {
    const bytes = request(line, { ...anonymous, ...more })
    const { status } = await send(service, bytes)
    statuses.add(status)
    t.ok(status < 500, `${status} ${bytes}`)
  }
  // Aborted downloads.
  const download = request('GET /docs/static/swagger-ui-bundle.js', anonymous)
  for (let count = 0; count < 20; count++) {
    const client = openConnection(t, service, download)
    await client.responded
    client.socket.resetAndDestroy()
  }
  await disconnected(service)

  t.ok(lines.length <= statuses.size, `${lines.length} lines`)
  for (const line of lines)
    t.match(line, { level: 30, msg: 'requests without a valid API key' })
})
