import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../support/service.ts'

t.test('/openapi.yaml is the file byte for byte, and /openapi.json the same document', async (t) => {
  const { app } = await startService(t)
  const yaml = await app.inject('/openapi.yaml')
  t.equal(yaml.headers['content-type'], 'application/yaml; charset=utf-8')
  t.same(yaml.rawPayload, readFileSync('openapi.yaml'))
  const json = await app.inject('/openapi.json')
  t.equal(json.headers['content-type'], 'application/json; charset=utf-8')
  t.same(json.json(), parse(readFileSync('openapi.yaml', 'utf8')))
})

t.test('Swagger UI reads the same document, and keeps the key over a reload', async (t) => {
  const { app } = await startService(t)
  t.equal((await app.inject('/docs/json')).body, (await app.inject('/openapi.json')).body)
  const settings = (await app.inject('/docs/static/swagger-initializer.js')).body
  for (const option of ['persistAuthorization', 'displayRequestDuration', 'showExtensions', 'deepLinking']) {
    t.match(settings, new RegExp(`"?${option}"?: ?true`))
  }
})

t.test('/ leads to the docs, which name their environment and have its color', async (t) => {
  const colors = { development: '#2b5c8a', staging: '#8a5a00', production: '#9b1c1c' }
  for (const [environment, color] of Object.entries(colors)) {
    const { url } = await startService(t, { config: { ENVIRONMENT: environment as keyof typeof colors } })
    const page = await fetch(url)
    t.equal(page.url, `${url}/docs`)
    t.match(await page.text(), `<title>Pet Categories · ${environment}</title>`)
    const theme = async (file: string) => (await fetch(`${url}/docs/static/theme/${file}`)).text()
    t.match(await theme('docs.js'), `h('strong', {}, '${environment}')`)
    for (const file of ['docs.css', 'icon.svg']) t.match(await theme(file), color)
  }
})

t.test('every file that the page names is there, with a slash at its end or without', async (t) => {
  const { app } = await startService(t)
  for (const base of ['/docs', '/docs/']) {
    const page = await app.inject(base)
    t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    const files = [...page.body.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => String(file))
    t.equal(files.length, 8)
    for (const file of files)
      t.equal((await app.inject(new URL(file, `http://localhost${base}`).pathname)).statusCode, 200, file)
  }
  const icon = await app.inject('/docs/static/theme/icon.svg')
  t.equal(icon.headers['content-type'], 'image/svg+xml')
})

t.test('the docs load nothing from elsewhere and ask for no HTTPS', async (t) => {
  const { app } = await startService(t)
  for (const url of ['/docs', '/docs/static/swagger-ui-bundle.js']) {
    const { statusCode, headers } = await app.inject(url)
    t.equal(statusCode, 200)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'; script-src 'self'")
    t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe|sha256/)
  }
})

t.test('a condition or a range that a file of the docs does not meet is a 412 or 416 in the Error body', async (t) => {
  const { app } = await startService(t)
  const get = (headers: Record<string, string>) => app.inject({ url: '/docs/static/swagger-ui.css', headers })
  const file = await get({})
  const etag = String(file.headers.etag)
  const precondition = {
    code: 'precondition_failed',
    message: 'The file does not meet the condition of the request',
    status: 412
  }
  for (const headers of [{ 'if-match': '"other"' }, { 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }]) {
    const response = await get(headers)
    t.equal(response.statusCode, 412)
    t.same(response.json(), precondition)
  }
  t.equal((await get({ 'if-match': etag })).statusCode, 200)

  const { statusCode, headers, ...response } = await get({ range: 'bytes=99999999-' })
  t.equal(statusCode, 416)
  t.equal(headers['content-range'], `bytes */${file.rawPayload.length}`)
  t.same(response.json(), {
    code: 'range_not_satisfiable',
    message: 'The range begins after the end of the file',
    status: 416
  })
  t.equal((await get({ range: 'bytes=0-9' })).statusCode, 206)
})
