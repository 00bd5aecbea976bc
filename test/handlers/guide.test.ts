import { readFileSync } from 'node:fs'
import t from 'tap'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'
import { startService } from '../support/service.ts'

const { document, json } = readApiDocument(api.openapiFile)

/** The codes of the examples of errors. */
const errorCodes = [...json.matchAll(/"code":"(\w+)","message"/g)].map(
  ([, code]) => String(code)
)

/** The codes in the rows of a table whose status precedes the code. */
const codesIn = (text: string) =>
  [...text.matchAll(/\| \d{3} +\| `?(\w+)/g)].map(([, code]) => String(code))

t.test('the guide explains each error of the OpenAPI document', (t) => {
  const ofError = codesIn(JSON.stringify(document.components?.schemas))
  t.ok(errorCodes.includes('order_not_cancellable'))
  t.ok(ofError.includes('method_not_allowed'))

  const explained = new Set(codesIn(readFileSync('docs/clients.md', 'utf8')))
  const documented = new Set([...errorCodes, ...ofError])
  t.same([...explained].sort(), [...documented].sort())
  t.end()
})

t.test('the OpenAPI document leads to the guide', async (t) => {
  const { app } = await startService(t)
  const { pathname } = new URL(String(document.externalDocs?.url))
  const { body } = await app.inject(pathname)
  t.match(body, '<nav aria-label="Contents">')
})
