import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../../support/service.ts'

interface Operation {
  operationId: string
  summary: string
  tags: string[]
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
const operations = operationsOf(document)

const { app, url: site } = await startService(t, {
  config: { ENVIRONMENT: 'staging' }
})

for (const path of ['/openapi.yaml', '/docs/yaml']) {
  t.test(`${path} is the hand-written file, byte for byte`, async (t) => {
    const { rawPayload, headers } = await app.inject(path)
    t.equal(headers['content-type'], 'application/yaml; charset=utf-8')
    t.same(rawPayload, readFileSync('openapi.yaml'))
  })
}

t.test('/openapi.json is the same document', async (t) => {
  const { body, headers } = await app.inject('/openapi.json')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.same(JSON.parse(body), parse(readFileSync('openapi.yaml', 'utf8')))
})

t.test('the page calls this deployment, and has the samples', async (t) => {
  const published = (await app.inject('/openapi.json')).json<Document>()
  const ofPage = (await app.inject('/docs/json')).json<Document>()
  t.match(published.servers[0]?.url, /^https:/, 'the default of clients')
  t.equal(ofPage.servers[0]?.url, '/v1', 'the default of the page')
  t.equal(ofPage.servers.length, published.servers.length)

  const samples = readFileSync('generated/samples.json', 'utf8')
  t.same(
    Object.fromEntries(
      operationsOf(ofPage).map((one) => [one.operationId, one['x-codeSamples']])
    ),
    JSON.parse(samples)
  )
})

t.test('the HTML of the page lists the operations', async (t) => {
  const { body } = await app.inject('/docs')
  const [, list = ''] =
    /<nav aria-label="List of operations">([^]*)<\/nav>/.exec(body) ?? []
  t.equal(list.match(/<a href="#\//g)?.length, operations.length)
  for (const { operationId, summary, tags } of operations) {
    t.match(list, `<a href="#/${tags[0]}/${operationId}"><b>`)
    t.match(list, `</b> ${summary}`)
  }
})

t.test('nothing depends on Host', async (t) => {
  for (const path of ['/docs', '/docs/guide', '/docs/guide.md', '/docs/json']) {
    const [one, other] = await Promise.all([
      app.inject(`http://pets.test:81${path}`),
      app.inject(path)
    ])
    t.equal(one.headers.etag, other.headers.etag, path)
  }
})

t.test(
  '/docs/changelog is the changelog, with links to the guide',
  async (t) => {
    const { body } = await app.inject('/docs/changelog')
    t.match(body, '<h1 id="changelog">')
    t.match(body, '<a href="guide#versions-and-deprecation">')
  }
)

/** What the page loads or links to here, as paths. */
async function filesOf(page: string): Promise<Set<string>> {
  const { body } = await app.inject(page)
  const here = `http://localhost${page}`
  const urls = Array.from(
    body.matchAll(/(?:href|src)="([^"]+)"/g),
    ([, file]) => new URL(String(file), here)
  )
  const own = urls.filter(({ hostname }) => hostname === 'localhost')
  return new Set(own.map(({ pathname }) => pathname))
}

for (const page of ['/docs', '/docs/', '/docs/guide', '/docs/changelog']) {
  t.test(`${page} loads its own files, without HTTPS`, async (t) => {
    const { headers } = await app.inject(page)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe|sha256/)

    let size = 0
    for (const url of [...(await filesOf(page)), '/docs/json']) {
      const response = await app.inject({
        url,
        headers: { 'accept-encoding': 'br' }
      })
      t.equal(response.statusCode, 200, url)
      size += response.rawPayload.length
    }
    t.ok(size <= 700_000, `${size} bytes`)
  })
}

t.test('/ leads to the page, which shows its environment', async (t) => {
  const page = await fetch(site)
  t.equal(page.url, `${site}/docs`)
  t.match(await page.text(), `<title>${document.info.title} · staging</title>`)
})

t.test('a file of the page is compressed, and not sent twice', async (t) => {
  const url = '/docs/static/swagger-ui-bundle.js'
  const file = readFileSync(
    'node_modules/@fastify/swagger-ui/static/swagger-ui-bundle.js'
  )
  const headers = { 'accept-encoding': 'gzip, deflate, br, zstd' }
  const first = await app.inject({ url, headers })
  t.match(first.headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'content-encoding': 'br',
    vary: 'Authorization, Accept-Encoding, Origin'
  })
  t.same(brotliDecompressSync(first.rawPayload), file)

  const etag = String(first.headers.etag)
  const second = await app.inject({
    url,
    headers: { ...headers, 'if-none-match': etag }
  })
  t.match(second, { statusCode: 304, headers: { etag }, body: '' })
})

/** What @fastify/swagger-ui would serve, and the page does not load. */
const unusedFiles = [
  '/docs/static/',
  '/docs/static/swagger-ui.js',
  '/docs/static/../../package.json'
]

t.test('a file that the page does not load is a 404', async (t) => {
  for (const url of unusedFiles) {
    const response = await app.inject(url)
    t.match(response.json(), { code: 'not_found', status: 404 }, url)
  }
})
