import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { notes, startNotes } from '../../support/notes.ts'
import { startService } from '../../support/service.ts'

const description = `
  description: |
    Short texts,
    for you. And more.`

const folder = t.testdir({
  'openapi.yaml': readFileSync(notes.openapi, 'utf8').replace(
    'title: Notes',
    `title: Notes & <more>${description}`
  ),
  'guide.html': '<main>How to write notes</main>\n'
})
const urlOf = (name: string) => pathToFileURL(path.join(folder, name))

/** The notes with another title, a description and a guide. */
const { app } = await startService(t, {
  api: { ...notes, openapi: urlOf('openapi.yaml'), guide: urlOf('guide.html') },
  config: { ENVIRONMENT: 'staging' }
})

t.test('/docs/guide is the guide, without a key or scripts', async (t) => {
  const { statusCode, headers, body } = await app.inject('/docs/guide')
  t.equal(statusCode, 200)
  t.equal(headers['content-type'], 'text/html; charset=utf-8')
  t.match(body, '<title>Guide · Notes &amp; &lt;more> · staging</title>')
  t.match(body, '<main>How to write notes</main>')
  t.match(headers['content-security-policy'], /^default-src 'none'; style-src/)
  t.notMatch(headers['content-security-policy'], /script-src|unsafe|https?:/)

  for (const [, file] of body.matchAll(/(?:href|src)="([^"]+)"/g)) {
    const { pathname } = new URL(String(file), 'http://localhost/docs/guide')
    t.equal((await app.inject(pathname)).statusCode, 200, pathname)
  }

  const again = { 'if-none-match': headers.etag }
  const request = { url: '/docs/guide', headers: again }
  t.equal((await app.inject(request)).statusCode, 304)
})

t.test('/llms.txt says what the API is, and where its docs are', async (t) => {
  const { headers, body } = await app.inject('/llms.txt')
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
  const unguided = await startNotes(t)
  t.equal((await unguided.app.inject('/docs/guide')).statusCode, 404)
  const { body } = await unguided.app.inject('/llms.txt')
  t.match(body, /^# Notes\n\n> Notes\n\n/)
  t.notMatch(body, '/docs/guide')
})
