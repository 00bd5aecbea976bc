import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import type { Api } from '../../../src/framework/api.ts'
import { notes, startNotes } from '../../support/notes.ts'
import { startService } from '../../support/service.ts'

const description = `
  description: |
    Short texts,
    for you. And more.`

/** The notes with another title, a description and a guide. */
function guidedNotes(): Api {
  const document = readFileSync(notes.openapi, 'utf8').replace(
    'title: Notes',
    `title: Notes & <more>${description}`
  )
  const folder = t.testdir({
    'openapi.yaml': document,
    'guide.html': '<main>How to write notes</main>\n'
  })
  const urlOf = (name: string) => pathToFileURL(path.join(folder, name))

  return {
    ...notes,
    openapi: urlOf('openapi.yaml'),
    guide: urlOf('guide.html')
  }
}

const guided = await startService(t, {
  api: guidedNotes(),
  config: { ENVIRONMENT: 'staging' }
})

t.test('/docs/guide is a page with the guide, without a key', async (t) => {
  const { statusCode, headers, body } = await guided.app.inject('/docs/guide')
  t.equal(statusCode, 200)
  t.equal(headers['content-type'], 'text/html; charset=utf-8')
  t.match(body, '<title>Guide · Notes &amp; &lt;more> · staging</title>')
  t.match(body, '<main>How to write notes</main>')
})

t.test('the guide loads its own files, and no scripts', async (t) => {
  const { headers, body } = await guided.app.inject('/docs/guide')
  t.match(headers['content-security-policy'], /^default-src 'none'; style-src/)
  t.notMatch(headers['content-security-policy'], /script-src|unsafe|https?:/)

  const files = [...body.matchAll(/(?:href|src)="([^"]+)"/g)]
  t.equal(files.length, 4)
  for (const [, file] of files) {
    const { pathname } = new URL(String(file), 'http://localhost/docs/guide')
    t.equal((await guided.app.inject(pathname)).statusCode, 200, pathname)
  }
})

t.test('the style sheet has the color of the environment', async (t) => {
  const { headers, body } = await guided.app.inject('/docs/guide.css')
  t.equal(headers['content-type'], 'text/css; charset=utf-8')
  t.match(body, '--environment: #8a5a00')
})

for (const url of ['/docs/guide', '/docs/guide.css', '/llms.txt']) {
  t.test(`${url} is downloaded again only if it has changed`, async (t) => {
    const { etag } = (await guided.app.inject(url)).headers
    const send = (tag: string) =>
      guided.app.inject({ url, headers: { 'if-none-match': tag } })

    const unchanged = await send(String(etag))
    t.equal(unchanged.statusCode, 304)
    t.equal(unchanged.body, '')
    t.equal(unchanged.headers.etag, etag)
    t.equal((await send('"other"')).statusCode, 200)
  })
}

t.test('/llms.txt says what the API is, and where its docs are', async (t) => {
  const { headers, body } = await guided.app.inject('/llms.txt')
  t.equal(headers['content-type'], 'text/plain; charset=utf-8')
  t.equal(
    body,
    `# Notes & <more>

> Short texts, for you.

## Docs

- [Guide](/docs/guide): how a program calls the API
- [OpenAPI document](/openapi.yaml): every operation, with examples
- [Docs page](/docs): the same, for people
`
  )
})

t.test('an API without a guide has none at /docs/guide', async (t) => {
  const { app } = await startNotes(t)
  t.equal((await app.inject('/docs/guide')).statusCode, 404)
  t.match((await app.inject('/llms.txt')).body, /^# Notes\n\n> Notes\n\n/)
  t.notMatch((await app.inject('/llms.txt')).body, '/docs/guide')
})
