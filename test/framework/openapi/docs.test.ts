import { readdirSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

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

const {
  app,
  url: site,
  port
} = await startService(t, {
  config: { ENVIRONMENT: 'staging' }
})

/** Follows redirects, as a browser does. */
async function open(path: string) {
  const response = await fetch(site + path)
  const body = Buffer.from(await response.arrayBuffer())
  return {
    status: response.status,
    url: response.url.replace(site, ''),
    headers: response.headers,
    body
  }
}

for (const path of ['/openapi.yaml', '/docs/yaml']) {
  t.test(`${path} is the hand-written file, byte for byte`, async (t) => {
    const { body, headers } = await open(path)
    t.equal(headers.get('content-type'), 'application/yaml; charset=utf-8')
    t.same(body, readFileSync('openapi.yaml'))
  })
}

t.test('/openapi.json is the same document', async (t) => {
  const { body, headers } = await app.inject('/openapi.json')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.same(JSON.parse(body), document)
})

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

t.test('nothing depends on Host', async (t) => {
  for (const path of ['/docs/', '/docs/guide', '/docs/json']) {
    const [one, other] = await Promise.all([
      app.inject(`http://pets.test:81${path}`),
      app.inject(path)
    ])
    t.equal(one.body, other.body, path)
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

const arrivals = [
  '/',
  '/docs',
  '/docs?from=mail',
  '/docs/?from=mail',
  '/docs/static/index.html'
]

for (const path of arrivals) {
  t.test(`${path} leads to the page, behind any prefix`, async (t) => {
    t.equal((await open(path)).url, '/docs/')
    for (let next = path; next !== '/docs/';) {
      const { location } = (await app.inject(next)).headers
      t.notMatch(location, /^(\/|http)/, next)
      next = new URL(String(location), site + next).pathname
    }
  })
}

t.test('the title of the page has the environment', async (t) => {
  const { body } = await open('/docs/')
  t.match(String(body), `<title>${document.info.title} · staging</title>`)
})

/** What a page loads or links to here, as paths. */
async function filesOf(page: string): Promise<Set<string>> {
  const { body } = await app.inject(page)
  const urls = Array.from(
    body.matchAll(/(?:href|src)="([^"]+)"/g),
    ([, file]) => new URL(String(file), site + page)
  )
  const own = urls.filter(({ origin }) => origin === site)
  return new Set(own.map(({ pathname }) => pathname))
}

for (const page of ['/docs/', '/docs/guide', '/docs/changelog']) {
  t.test(`${page} loads its own files, without HTTPS`, async (t) => {
    const { headers } = await app.inject(page)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe|sha256/)

    let size = 0
    for (const file of [...(await filesOf(page)), '/docs/json']) {
      const { status, body } = await open(file)
      t.equal(status, 200, file)
      // About as a proxy compresses.
      size += gzipSync(body, { level: 1 }).length
    }
    t.ok(size <= 850_000, `${size} bytes`)
  })
}

t.test('a file that the page does not have is a 404', async (t) => {
  for (const url of ['/docs/static/x.js', '/docs/static/../../package.json']) {
    const response = await app.inject(url)
    t.match(response.json(), { code: 'not_found', status: 404 }, url)
  }
})

const descriptors = () => readdirSync('/dev/fd').length

/** Asks for a path, and leaves when the response begins. */
async function abort(path: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await once(socket, 'data')
  socket.destroy()
}

t.test('no descriptor stays open, even if a client leaves', async (t) => {
  const files = await filesOf('/docs/')
  const before = descriptors()
  for (const path of [...files, ...arrivals, '/docs/json', '/docs/guide']) {
    const requests = Array.from({ length: 50 }, () =>
      Promise.all([app.inject(path), abort(path)])
    )
    await Promise.all(requests)
  }

  const areClosed = () => descriptors() <= before
  t.ok(await until(areClosed, 'all descriptors are closed'))
})
