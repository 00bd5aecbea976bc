import { readFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import t from 'tap'
import { document, operations, resolve } from '../support/examples.ts'
import { startService } from '../support/service.ts'

/** As in `400 invalid_request`. */
type Code = string

/** The codes in the examples of responses. */
const codesOfOperations = (): Code[] =>
  operations
    .flatMap(({ responses }) => responses)
    .filter(({ status }) => status >= 400)
    .flatMap(({ examples }) => examples)
    .map(({ value }) => {
      const { status, code } = value as { status: number; code: string }
      return `${status} ${code}`
    })

/** The codes in the description of Error, which belong to no operation. */
function codesOfError(): Code[] {
  const { description = '' } = resolve<OpenAPIV3.SchemaObject>({
    $ref: '#/components/schemas/Error'
  })
  const rows = description.matchAll(/^\| (\d{3}) +\| (\w+) /gm)
  return [...rows].map(([, status, code]) => `${status} ${code}`)
}

/** The codes in the two tables of docs/clients.md. */
function codesOfGuide(): Code[] {
  const guide = readFileSync('docs/clients.md', 'utf8')
  const codesIn = (rows: RegExp) =>
    [...guide.matchAll(rows)].map(([, status, code]) => `${status} ${code}`)

  const general = codesIn(/^\| (\d{3}) +\| `(\w+)` /gm)
  const ofOperations = codesIn(/^\| `[^`]+` +\| (\d{3}) +\| `(\w+)` /gm)

  // Several operations can have the same code.
  return [...general, ...new Set(ofOperations)]
}

t.test('the guide explains each error of the OpenAPI document, once', (t) => {
  const codes = new Set([...codesOfOperations(), ...codesOfError()])
  t.ok(codes.has('503 outcome_unknown'))
  t.ok(codes.has('405 method_not_allowed'))
  t.ok(codes.has('409 order_not_cancellable'))
  t.same(codesOfGuide().sort(), [...codes].sort())
  t.end()
})

t.test('the OpenAPI document leads to the guide', async (t) => {
  const { app } = await startService(t)
  const { pathname } = new URL(String(document.externalDocs?.url))
  const { statusCode, body } = await app.inject(pathname)
  t.equal(statusCode, 200)

  const ids = [...body.matchAll(/id="([^"]+)"/g)].map(([, id]) => id)
  t.same(ids, [...new Set(ids)], 'its anchors are unique')
  for (const [, anchor] of body.matchAll(/href="#([^"]+)"/g))
    t.ok(ids.includes(String(anchor)), `#${anchor} leads to something`)
})

t.test('/llms.txt says what this API is', async (t) => {
  const { app } = await startService(t)
  const { body } = await app.inject('/llms.txt')
  t.match(
    body,
    /^# Pet Categories\n\n> Pets, the categories that classify them, and their orders: JSON over HTTP\.\n/
  )
})
