// The same content gets the same response, however RFC 9112 frames it.
import t from 'tap'
import { startNotes } from '../../support/notes.ts'
import {
  chunked,
  createRequest,
  type Headers,
  openConnection,
  parts,
  request,
  send
} from './raw-requests.ts'

const service = await startNotes(t)

/** One chunk. */
const chunk = (content: string) =>
  content && `${content.length.toString(16)}\r\n${content}\r\n`

const inOneChunk = (content: string) => `${chunk(content)}0\r\n\r\n`

/** Headers, and how they frame some content. */
const framings: Record<string, [Headers, (content: string) => string]> = {
  'a chunk': [chunked, inOneChunk],
  'a chunk for each byte': [chunked, parts],
  'another expectation': [{ ...chunked, Expect: 'cake' }, inOneChunk]
}

const note = '{"name":"x"}'

/** The response to each content of a request. */
const exchanges: [line: string, content: string, status: number][] = [
  ['POST /v1/notes', note, 201],
  ['POST /v1/notes', note + ' '.repeat(65_524), 201],
  ['POST /v1/notes', note + ' '.repeat(65_525), 413],
  ['POST /v1/notes', '', 400],
  ['GET /v1/notes/1/replies', '', 200],
  ['GET /v1/notes', note, 400],
  ['HEAD /v1/notes', note, 400],
  ['DELETE /v1/notes/404', '', 404],
  ['DELETE /v1/notes/404', note, 400],
  ['GET /livez', note, 200],
  ['GET /none', note, 404]
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
    for (const [name, [headers, frame]] of Object.entries(framings)) {
      const type = { 'Content-Type': 'application/json' }
      const head = request(line, { ...type, ...headers })
      const response = await send(service, head + frame(content))
      t.same(shown(response), shown(first), name)
    }
  })
}

t.test('bodies in parts take little memory', async (t) => {
  const config = { DATABASE_TIMEOUT_MS: 60_000 }
  const patient = await startNotes(t, { config })
  const before = process.memoryUsage().rss
  const first = createRequest('', chunked)
  const body = parts(`${note}${' '.repeat(60_000)}`)
  // Their ends are missing.
  const clients = Array.from({ length: 10 }, () =>
    openConnection(t, patient, first + body.slice(0, -5))
  )
  await Promise.all(clients.map(({ sent }) => sent))
  for (const { write } of clients) write(body.slice(-5))
  await Promise.all(clients.map(({ responded }) => responded))
  for (const { statuses } of clients) t.same(statuses(), [201])

  const megabytes = (process.memoryUsage().rss - before) / 2 ** 20
  // As many objects of Node.js would take 420 MB.
  t.ok(megabytes < 250, `${megabytes} MB`)
})
