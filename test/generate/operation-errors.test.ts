import path from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
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

const responseWith = (...errors: [code: string, message?: string][]) => ({
  description: 'An error',
  content: {
    'application/json': {
      schema: {},
      examples: {
        ...errors.map(([code, message = 'No']) => ({
          value: { code, message }
        }))
      }
    }
  }
})

/** The guide of an API with these responses of DELETE /dogs/{dogId}. */
function guideOf(t: Test, responses: object, shared: object = {}) {
  const operation = { operationId: 'deleteDog', responses }
  const folder = t.testdir({
    'openapi.yaml': stringify({
      openapi: '3.0.3',
      info: { title: 'Dogs', version: '1.0.0' },
      paths: { '/dogs/{dogId}': { delete: operation } },
      components: { responses: shared }
    })
  })
  return guideWith(readApiDocument(path.join(folder, 'openapi.yaml')), guide)
}

const sectionOf = (text: string) =>
  text.slice(text.indexOf(start) + start.length, text.indexOf(end)).trim()

t.test('each 4xx that the guide does not explain gets a row', async (t) => {
  const text = await guideOf(
    t,
    {
      200: responseWith(['ok']),
      204: { description: 'It is deleted' },
      404: responseWith(['not_found']),
      409: { $ref: '#/components/responses/Busy' },
      410: responseWith(['not_found', 'a|b *c* d_e']),
      412: { description: 'Without an example' },
      503: responseWith(['broken'])
    },
    { Busy: responseWith(['busy', 'Now'], ['busy', 'Soon'], ['lost']) }
  )

  t.equal(
    sectionOf(text),
    `| request                | status | \`code\`      | \`message\`, for example |
| ---------------------- | ------ | ----------- | ---------------------- |
| \`DELETE /dogs/{dogId}\` | 409    | \`busy\`      | Now                    |
| \`DELETE /dogs/{dogId}\` | 409    | \`lost\`      | No                     |
| \`DELETE /dogs/{dogId}\` | 410    | \`not_found\` | a\\|b \\*c\\* d\\_e        |`
  )
  t.equal(text.replace(sectionOf(text), 'an old table'), guide)
})

t.test('an API may have no such error', async (t) => {
  const text = await guideOf(t, { 200: responseWith(['ok']) })
  t.equal(sectionOf(text), 'No operation has one.')
})
