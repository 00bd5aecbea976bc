import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../support/service.ts'

const { app, url } = await startService(t, {
  config: { ENVIRONMENT: 'staging' }
})

interface Document {
  servers: { url: string }[]
}

const urlsOf = ({ servers }: Document) =>
  servers.map((server) => server.url).sort()

const styleSheet = '/docs/static/swagger-ui.css'

t.test('/openapi.yaml is the generated file, byte for byte', async (t) => {
  const { rawPayload, headers } = await app.inject('/openapi.yaml')
  t.equal(headers['content-type'], 'application/yaml; charset=utf-8')
  t.same(rawPayload, readFileSync('generated/openapi.yaml'))
})

t.test('/openapi.json is the same document', async (t) => {
  const { body, headers } = await app.inject('/openapi.json')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.same(
    JSON.parse(body),
    parse(readFileSync('generated/openapi.yaml', 'utf8'))
  )
})

t.test('Swagger UI calls this deployment, not production', async (t) => {
  const published = (await app.inject('/openapi.json')).json<Document>()
  const ofPage = (await app.inject('/docs/json')).json<Document>()

  t.match(published.servers[0]?.url, /^https:/, 'the default of clients')
  t.equal(ofPage.servers[0]?.url, '/v1', 'the default of the page')
  t.same(urlsOf(ofPage), urlsOf(published))
  t.same({ ...ofPage, servers: [] }, { ...published, servers: [] })
})

t.test(
  '/ leads to the docs, which show their environment in its color',
  async (t) => {
    const page = await fetch(url)
    t.equal(page.url, `${url}/docs`)
    t.match(await page.text(), '<title>Pet Categories · staging</title>')
    for (const file of ['page.css', 'icon.svg']) {
      const { body } = await app.inject(`/docs/static/theme/${file}`)
      t.match(body, '#8a5a00', file)
    }
  }
)

/** The files that an HTML page loads. */
const filesOf = (html: string) =>
  [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => String(file))

for (const page of ['/docs', '/docs/']) {
  t.test(`${page} loads its own files, without HTTPS`, async (t) => {
    const files = filesOf((await app.inject(page)).body)
    for (const own of ['page.css', 'page.js', 'operation.js', 'icon.svg'])
      t.ok(files.some((file) => file.endsWith(own)))

    for (const file of [page, ...files]) {
      const { pathname } = new URL(file, `http://localhost${page}`)
      const { statusCode, headers } = await app.inject(pathname)
      t.equal(statusCode, 200, file)
      const policy = String(headers['content-security-policy'])
      t.match(policy, "default-src 'none'; script-src 'self'")
      t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe|sha256/)
    }
  })
}

t.test('an unmet condition on a file of the docs is a 412', async (t) => {
  const headers = { 'if-match': '"other"' }
  const response = await app.inject({ url: styleSheet, headers })
  t.match(response.json(), { code: 'precondition_failed', status: 412 })
})

t.test('a range behind the end of a file is a 416', async (t) => {
  const headers = { range: 'bytes=99999999-' }
  const response = await app.inject({ url: styleSheet, headers })
  t.match(response.json(), { code: 'range_not_satisfiable', status: 416 })
  t.match(response.headers['content-range'], /^bytes \*\/\d+$/)
})
