import { readFileSync } from 'node:fs'
import t from 'tap'
import { document } from './support/examples.ts'
import { getRequest, send } from './support/raw.ts'
import { startService } from './support/service.ts'

const service = await startService(t)
const { app, url } = service

t.test(
  'the document is the hand-written file, and the same JSON',
  async (t) => {
    const yaml = await app.inject('/openapi.yaml')
    t.same(yaml.rawPayload, readFileSync('openapi.yaml'))
    t.same((await app.inject('/openapi.json')).json(), document)
  }
)

t.test('the docs page needs no API key, and only its own files', async (t) => {
  const page = await fetch(url)
  t.equal(page.url, `${url}/docs/`)
  t.match(await page.text(), '<title>Pet Categories</title>')
  const policy = String(page.headers.get('content-security-policy'))
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
    t.match(
      { statusCode, headers },
      { statusCode: 302, headers: { location: target } },
      path
    )
  }
  const { body } = await app.inject('/docs/')
  t.notMatch(body, /(src|href)="\//)
  const { servers } = (await app.inject('/docs/json')).json<typeof document>()
  t.same(servers, [{ url: '../v1' }])
})

t.test('strange requests for files of the page have errors', async (t) => {
  for (const [path, headers, status] of [
    ['logo.svg', { Range: 'bytes=0-9' }, 206],
    ['%2e%2e%2f%2e%2e%2fpackage.json', {}, 404],
    ['%00', {}, 404],
    ['logo.svg', { Range: 'bytes=99999999-' }, 416],
    ['logo.svg', { 'If-Match': '"x"' }, 412]
  ] as const) {
    const request = getRequest(`/docs/static/${path}`, headers)
    const response = await send(service, request)
    t.equal(response.status, status, path)
    if (status >= 400) t.match(JSON.parse(response.body), { status })
  }
})
