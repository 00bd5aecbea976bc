import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../../support/service.ts'

interface Operation {
  operationId: string
  'x-codeSamples': object[]
}

interface Document {
  info: { title: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
}

const document = parse(readFileSync('openapi.yaml', 'utf8')) as Document
const operationsOf = ({ paths }: Document) =>
  Object.values(paths).flatMap((item) => Object.values(item))

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
  const ofPage = (await app.inject('/docs/json')).json<Document>()
  t.match(document.servers[0]?.url, /^https:/, 'the default of clients')
  t.equal(ofPage.servers[0]?.url, '/v1', 'the default of the page')
  t.equal(ofPage.servers.length, document.servers.length)

  const samples = readFileSync('generated/samples.json', 'utf8')
  t.same(
    Object.fromEntries(
      operationsOf(ofPage).map((one) => [one.operationId, one['x-codeSamples']])
    ),
    JSON.parse(samples)
  )
})

/** By what a browser opens: where it is then. */
const arrivals = {
  '/': '/docs/',
  '/docs': '/docs/',
  '/docs?from=mail': '/docs/',
  '/docs/?from=mail': '/docs/',
  '/docs/static/index.html': '/docs/'
}

t.test('other paths lead to the page, behind any prefix', async (t) => {
  for (const [path, target] of Object.entries(arrivals)) {
    const location = String((await app.inject(path)).headers.location)
    t.notMatch(location, /^(\/|http)/, path)
    t.equal(new URL(location, site + path).href, site + target)
  }
})

t.test('the title of the page has the environment', async (t) => {
  const { body } = await app.inject('/docs/')
  t.match(body, `<title>${document.info.title} · staging</title>`)
})

for (const page of ['/docs/', '/docs/guide', '/docs/changelog']) {
  t.test(`${page} loads its own files, without HTTPS`, async (t) => {
    const { body, headers } = await app.inject(page)
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

t.test('nothing depends on Host', async (t) => {
  for (const path of ['/docs/', '/docs/guide', '/docs/json']) {
    const [one, other] = await Promise.all([
      app.inject(`http://pets.test:81${path}`),
      app.inject(path)
    ])
    t.equal(one.body, other.body, path)
  }
})

t.test('a file that the page does not have is a 404', async (t) => {
  for (const url of ['/docs/static/x.js', '/docs/static/../../package.json']) {
    const response = await app.inject(url)
    t.match(response.json(), { code: 'not_found', status: 404 }, url)
  }
})
