import path from 'node:path'
import { check } from 'prettier'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { guideHtml } from '../../tools/generate/guide.ts'
import { guideWith } from '../../tools/generate/operation-errors.ts'

const start = '<!-- errors of operations: written by a command -->'
const end = '<!-- end of errors of operations -->'

/** Explains `404 not_found`. Its code is not in the style of Prettier. */
const guide = `## Errors

| status | \`code\`      | what happened         |
| ------ | ----------- | --------------------- |
| 404    | \`not_found\` | nothing has this id   |

${start}

an old table

${end}

\`\`\`ts
const  other = "style"
\`\`\`
`

const errorOf = (status: number, code: string, message = 'No') => ({
  value: { status, code, message }
})

const responseWith = (...examples: object[]) => ({
  description: 'An error',
  content: { 'application/json': { examples: { ...examples } } }
})

/** The guide of an API with these responses of DELETE /dogs/{dogId}. */
function guideOf(t: Test, responses: object, components: object = {}) {
  const operation = { operationId: 'deleteDog', responses }
  const folder = t.testdir({
    'openapi.yaml': stringify({
      openapi: '3.0.3',
      info: { title: 'Dogs', version: '1.0.0' },
      paths: { '/dogs/{dogId}': { delete: operation } },
      components
    })
  })

  const document = readApiDocument(path.join(folder, 'openapi.yaml'))
  return guideWith(document, guide)
}

const sectionOf = (text: string) =>
  text.slice(text.indexOf(start) + start.length, text.indexOf(end))

/** The cells of the rows of the section. */
const rowsOf = (text: string) =>
  [...sectionOf(text).matchAll(/^\| `(.+?) +\|$/gm)].map(([, row = '']) =>
    row.split(/`? +\| `?/)
  )

t.test('an error has its request, status, code and message', async (t) => {
  const asleep = errorOf(409, 'dog_asleep', 'The dog sleeps until noon')
  const text = await guideOf(t, { 409: responseWith(asleep) })

  t.equal(
    sectionOf(text),
    `

| request                | status | \`code\`       | \`message\`, for example    |
| ---------------------- | ------ | ------------ | ------------------------- |
| \`DELETE /dogs/{dogId}\` | 409    | \`dog_asleep\` | The dog sleeps until noon |

`
  )
})

t.test('the rest of the guide stays as it is', async (t) => {
  const text = await guideOf(t, { 409: responseWith(errorOf(409, 'asleep')) })

  t.equal(text.replace(sectionOf(text), sectionOf(guide)), guide)
})

t.test('each code has the message of its first example', async (t) => {
  const text = await guideOf(t, {
    400: responseWith(errorOf(400, 'busy', 'Later')),
    409: responseWith(
      errorOf(409, 'busy', 'Now'),
      errorOf(409, 'busy', 'Soon'),
      errorOf(409, 'lost', 'Never')
    )
  })

  t.same(rowsOf(text), [
    ['DELETE /dogs/{dogId}', '400', 'busy', 'Later'],
    ['DELETE /dogs/{dogId}', '409', 'busy', 'Now'],
    ['DELETE /dogs/{dogId}', '409', 'lost', 'Never']
  ])
})

t.test('responses and examples of components are included', async (t) => {
  const busy = { $ref: '#/components/examples/Busy' }
  const text = await guideOf(
    t,
    { 409: { $ref: '#/components/responses/Busy' } },
    {
      examples: { Busy: errorOf(409, 'busy') },
      responses: { Busy: responseWith(busy) }
    }
  )

  t.same(rowsOf(text), [['DELETE /dogs/{dogId}', '409', 'busy', 'No']])
})

t.test('an error that the guide explains has no second row', async (t) => {
  const text = await guideOf(t, {
    404: responseWith(errorOf(404, 'not_found')),
    410: responseWith(errorOf(410, 'not_found'))
  })

  t.same(rowsOf(text), [['DELETE /dogs/{dogId}', '410', 'not_found', 'No']])
})

t.test('a row needs a 4xx and an Error body', async (t) => {
  const text = await guideOf(t, {
    200: responseWith(errorOf(200, 'ok')),
    204: { description: 'It is deleted' },
    405: { description: 'No body' },
    409: responseWith(
      { value: null },
      { value: 'text' },
      { value: { code: 'x', message: 'x' } },
      { value: { status: 409, message: 'x' } },
      { value: { status: 409, code: 'x' } },
      { value: { status: 409, code: 'x', message: 1 } },
      { $ref: '#/components/examples/Missing' }
    ),
    503: responseWith(errorOf(503, 'broken'))
  })

  t.equal(sectionOf(text), '\n\nNo operation has one.\n\n')
})

t.test('a message is text, whatever it contains', async (t) => {
  const message = 'a|b *c* _d_ `e` [f](g) <h> &amp; ~~i~~ \\ j_k $1'
  const text = await guideOf(t, {
    409: responseWith(errorOf(409, 'odd', message))
  })

  const shown = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const html = guideHtml(text, String)
  t.match(html, `<td>${shown.replaceAll('>', '&gt;')}</td>`)

  const table = `${sectionOf(text).trim()}\n`
  t.ok(await check(table, { parser: 'markdown' }))
})
