import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../../support/service.ts'

interface Document {
  info: { title: string }
  servers: { url: string }[]
}

const document = parse(readFileSync('openapi.yaml', 'utf8')) as Document

const config = { ENVIRONMENT: 'staging' }
const { app, url: site } = await startService(t, { config })

t.test(
  'the document is the hand-written file, and the same JSON',
  async (t) => {
    const yaml = await app.inject('/openapi.yaml')
    t.equal(yaml.headers['content-type'], 'application/yaml; charset=utf-8')
    t.same(yaml.rawPayload, readFileSync('openapi.yaml'))

    const { body, headers } = await app.inject('/openapi.json')
    t.equal(headers['content-type'], 'application/json; charset=utf-8')
    t.same(JSON.parse(body), document)
  }
)

t.test('the page calls this deployment, and has the samples', async (t) => {
  const page = await app.inject('/docs/json')
  const { servers } = page.json<Document>()
  t.match(document.servers[0]?.url, /^https:/, 'the default of clients')
  t.equal(servers[0]?.url, '/v1', 'the default of the page')
  t.equal(servers.length, document.servers.length)

  const samples = JSON.parse(
    readFileSync('generated/samples.json', 'utf8')
  ) as Record<string, object[]>
  for (const [id, ofOperation] of Object.entries(samples)) {
    const json = `"x-codeSamples":${JSON.stringify(ofOperation)}`
    t.ok(page.body.includes(json), id)
  }
})

t.test('other paths lead to the page, behind any prefix', async (t) => {
  for (const path of ['/', '/docs', '/docs/?x', '/docs/static/index.html']) {
    const location = String((await app.inject(path)).headers.location)
    t.notMatch(location, /^(\/|http)/, path)
    t.equal(new URL(location, site + path).href, `${site}/docs/`)
  }
})

const { title: api } = document.info
const pages = {
  '/docs/': `${api} · staging`,
  '/docs/guide': `Guide · ${api}`,
  '/docs/changelog': `Changelog · ${api}`
}

for (const [page, title] of Object.entries(pages)) {
  t.test(`${page} loads its own files, without HTTPS`, async (t) => {
    const { body, headers } = await app.inject(page)
    t.match(body, `<title>${title}</title>`)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe|sha256/)

    for (const [, file] of body.matchAll(/(?:href|src)="([^"]+)"/g)) {
      const { origin, pathname } = new URL(String(file), site + page)
      if (origin !== site) continue
      t.equal((await fetch(site + pathname)).status, 200, pathname)
    }
  })
}

t.test('a file that the page does not have is a 404', async (t) => {
  const response = await app.inject('/docs/static/x.js')
  t.match(response.json(), { code: 'not_found', status: 404 })
})
