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

t.test(
  'Swagger UI reads the document that is served, shows its extensions, and keeps the key over a reload',
  async (t) => {
    const { url } = await startService(t)
    const copy = await fetch(`${url}/docs/json`)
    t.equal(copy.url, `${url}/openapi.json`)
    t.equal((await fetch(`${url}/docs/yaml`)).url, `${url}/openapi.yaml`)
    const settings = await (await fetch(`${url}/docs/static/swagger-initializer.js`)).text()
    t.match(settings, '"persistAuthorization":true')
    t.match(settings, '"showExtensions":true')
  }
)

t.test('/ leads to the docs, which name their environment', async (t) => {
  for (const environment of ['development', 'staging', 'production'] as const) {
    const { url } = await startService(t, { config: { ENVIRONMENT: environment } })
    const page = await fetch(url)
    t.equal(page.url, `${url}/docs`)
    t.match(await page.text(), `<title>Pet Categories (${environment})</title>`)
    const css = await fetch(`${url}/docs/static/theme/environment.css`)
    t.match(await css.text(), `content: '${environment}'`)
  }
})

t.test('the docs load nothing from elsewhere and ask for no HTTPS', async (t) => {
  const { app } = await startService(t)
  for (const url of ['/docs', '/docs/static/swagger-ui-bundle.js']) {
    const { statusCode, headers } = await app.inject(url)
    t.equal(statusCode, 200)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'; script-src 'self'")
    t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe/)
  }
})
