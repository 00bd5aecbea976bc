// The same content gets the same response, whether it has a Content-Length or
// comes in chunks.
import t from 'tap'
import { startNotes } from '../../support/notes.ts'
import { chunked, parts, request, send } from './raw-requests.ts'

const service = await startNotes(t)

const note = '{"name":"x"}'

/** The response to each content of a request. */
const exchanges: [line: string, content: string, status: number][] = [
  ['POST /v1/notes', note, 201],
  ['POST /v1/notes', note + ' '.repeat(65_524), 201],
  ['POST /v1/notes', note + ' '.repeat(65_525), 413],
  ['POST /v1/notes', '', 400],
  ['GET /v1/notes', note, 400],
  ['DELETE /v1/notes/404', '', 404],
  ['DELETE /v1/notes/404', note, 400],
  ['GET /livez', note, 200]
]

/** What a response says, without the id of what was created. */
const shown = ({ status, body }: Awaited<ReturnType<typeof send>>) => [
  status,
  body.replace(/"id":\d+/, '')
]

for (const [line, content, status] of exchanges) {
  const size = `${content.length} bytes`
  t.test(`${line} with ${size} gets ${status}, however framed`, async (t) => {
    const first = await send(service, request(line, {}, content))
    t.equal(first.status, status)
    const head = request(line, {
      'Content-Type': 'application/json',
      ...chunked
    })
    const second = await send(service, head + parts(content))
    t.same(shown(second), shown(first))
  })
}
