import { readFileSync } from 'node:fs'
import t from 'tap'
import { document } from '../support/examples.ts'
import { startService } from '../support/service.ts'

/** The codes in the rows of a table whose status precedes the code. */
const codesIn = (text: string) =>
  new Set([...text.matchAll(/\| \d{3} +\| `?(\w+)/g)].map(([, code]) => code))

// examples.test.ts proves that the table in the schema Error is complete.
t.test('the guide explains each error of the OpenAPI document', (t) => {
  const explained = codesIn(readFileSync('docs/clients.md', 'utf8'))
  t.ok(explained.has('order_not_cancellable'))
  t.same(explained, codesIn(JSON.stringify(document.components?.schemas)))
  t.end()
})

t.test('the OpenAPI document leads to the guide', async (t) => {
  const { app } = await startService(t)
  const { pathname } = new URL(String(document.externalDocs?.url))
  const { body } = await app.inject(pathname)
  t.match(body, '<nav aria-label="Contents">')
})
