import { readdirSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const { app, url: site } = await startService(t, {
  config: { ENVIRONMENT: 'staging' }
})

interface Operation {
  operationId: string
  'x-codeSamples': object[]
}

interface Document {
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
}

const operationsOf = ({ paths }: Document) =>
  Object.values(paths).flatMap((methods) => Object.values(methods))

const urlsOf = ({ servers }: Document) =>
  servers.map((server) => server.url).sort()

t.test('/openapi.yaml is the hand-written file, byte for byte', async (t) => {
  const { rawPayload, headers } = await app.inject('/openapi.yaml')
  t.equal(headers['content-type'], 'application/yaml; charset=utf-8')
  t.same(rawPayload, readFileSync('openapi.yaml'))
})

t.test('/openapi.json is the same document', async (t) => {
  const { body, headers } = await app.inject('/openapi.json')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.same(JSON.parse(body), parse(readFileSync('openapi.yaml', 'utf8')))
})

t.test('Swagger UI calls this deployment, not production', async (t) => {
  const published = (await app.inject('/openapi.json')).json<Document>()
  const pageDocument = (await app.inject('/docs/json')).json<Document>()

  t.match(published.servers[0]?.url, /^https:/, 'the default of clients')
  t.equal(pageDocument.servers[0]?.url, '/v1', 'the default of the page')
  t.same(urlsOf(pageDocument), urlsOf(published))
})

t.test('the docs page adds the code samples to the document', async (t) => {
  const published = (await app.inject('/openapi.json')).json<Document>()
  const { body } = await app.inject('/docs/json')
  const samples = Object.fromEntries(
    operationsOf(JSON.parse(body) as Document).map((operation) => [
      operation.operationId,
      operation['x-codeSamples']
    ])
  )
  t.same(
    samples,
    JSON.parse(readFileSync('generated/samples.json', 'utf8')),
    'each operation has those of samples/'
  )

  const withoutSamples = JSON.parse(body, (key, value: unknown) =>
    key === 'x-codeSamples' ? undefined : value
  ) as Document
  t.same({ ...withoutSamples, servers: [] }, { ...published, servers: [] })
})

t.test(
  '/ leads to the docs, which show their environment in its color',
  async (t) => {
    const page = await fetch(site)
    t.equal(page.url, `${site}/docs`)
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
      t.ok(files.some((file) => file.includes(`/theme/${own}?`)))

    for (const file of [page, ...files]) {
      const { pathname } = new URL(file, `http://localhost${page}`)
      const { statusCode, headers } = await app.inject(pathname)
      t.equal(statusCode, 200, file)
      const policy = String(headers['content-security-policy'])
      t.match(policy, "default-src 'none'; ")
      t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe|sha256/)
    }
    const { headers } = await app.inject(page)
    const policy = headers['content-security-policy']
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'")
  })
}

const asBrowser = { 'accept-encoding': 'gzip, deflate, br, zstd' }

/** What a browser downloads with an empty cache. */
const downloads = async () => {
  const urls = ['/docs', ...filesOf((await app.inject('/docs')).body)]

  return Promise.all(
    [...urls, '/docs/json'].map(async (url) => ({
      url,
      response: await app.inject({ url, headers: asBrowser })
    }))
  )
}

t.test('the whole page has at most 700 kB', async (t) => {
  const all = await downloads()
  const sizes = all.map(({ response }) => response.rawPayload.length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  t.ok(total <= 700_000, `${total} bytes`)
})

t.test('a browser keeps the files of the page by their content', async (t) => {
  const css = '/docs/static/swagger-ui.css'
  const html = (await app.inject('/docs')).body
  const versioned = filesOf(html).find((file) => file.startsWith(`${css}?v=`))
  const cacheControl = async (url: string) =>
    (await app.inject(url)).headers['cache-control']

  t.equal(
    await cacheControl(String(versioned)),
    'public, max-age=31536000, immutable'
  )
  for (const url of [css, `${css}?v=other`, '/docs/json', '/openapi.yaml'])
    t.equal(await cacheControl(url), 'public, no-cache', url)
  t.equal(await cacheControl('/docs'), 'no-store')
})

t.test('a file of the page is compressed, and not sent twice', async (t) => {
  const url = '/docs/static/swagger-ui-bundle.js'
  const file = readFileSync(
    'node_modules/@fastify/swagger-ui/static/swagger-ui-bundle.js'
  )
  const plain = await app.inject(url)
  t.same(plain.rawPayload, file)
  t.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8')
  t.equal(plain.headers.vary, 'Accept-Encoding')

  const first = await app.inject({ url, headers: asBrowser })
  t.equal(first.headers['content-encoding'], 'br')
  t.same(brotliDecompressSync(first.rawPayload), file)

  const etag = String(first.headers.etag)
  const headers = { ...asBrowser, 'if-none-match': etag }
  const second = await app.inject({ url, headers })
  t.equal(second.statusCode, 304)
  t.equal(second.headers.etag, etag)
  t.equal(second.body, '')
})

t.test('HEAD of a file has the headers of GET', async (t) => {
  const url = '/openapi.yaml'
  const get = await app.inject({ url, headers: asBrowser })
  const head = await app.inject({ url, headers: asBrowser, method: 'HEAD' })
  t.equal(head.body, '')
  for (const name of ['etag', 'content-length', 'content-encoding'])
    t.equal(head.headers[name], get.headers[name], name)
})

t.test('the page has text before its scripts run, and without', async (t) => {
  const { body } = await app.inject('/docs')
  t.match(body, /<noscript><p>This page needs JavaScript\.<\/p><\/noscript>/)
  t.match(body, /The operations are loading\..*href="\/openapi\.yaml"/s)
})

/** What @fastify/swagger-ui would serve, and the page does not load. */
const unusedFiles = [
  '/docs/yaml',
  '/docs/static/index.html',
  '/docs/static/',
  '/docs/static/logo.svg',
  '/docs/static/oauth2-redirect.html',
  '/docs/static/swagger-ui.js',
  '/docs/static/../../package.json'
]

t.test('a file that the page does not load is a 404', async (t) => {
  for (const url of unusedFiles) {
    const response = await app.inject(url)
    t.match(response.json(), { code: 'not_found', status: 404 }, url)
  }
})

const openFiles = () => readdirSync('/proc/self/fd').length

/** Requests a URL, and leaves as soon as the response begins. */
async function abort(url: string): Promise<void> {
  const leaving = new AbortController()
  await fetch(url, { signal: leaving.signal })
  leaving.abort()
}

t.test('no request for the docs leaves a file open', async (t) => {
  const page = (await app.inject('/docs')).body
  const paths = ['/docs', ...unusedFiles, '/docs/json', '/docs/yaml']
  const files = filesOf(page).map((file) => new URL(file, `${site}/docs`).href)
  const urls = [...paths.map((path) => `${site}${path}`), ...files]
  const before = openFiles()

  for (const url of urls) {
    for (let request = 0; request < 34; request++) {
      await (await fetch(url)).arrayBuffer()
      await fetch(url, { method: 'HEAD' })
      await abort(url)
    }
  }

  // Some are those of connections.
  await t.resolves(until(() => openFiles() < before + 34, 'files are closed'))
})
