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

/** One chunk, with what is allowed around it. */
const chunk = (content: string, extension = '') =>
  content === ''
    ? ''
    : `00${content.length.toString(16).toUpperCase()}${extension}\r\n${content}\r\n`

/** The headers and the bytes of a request for some content. */
type Framing = (content: string) => [headers: Headers, bytes: string]

const framings: Record<string, Framing> = {
  'Content-Length': (content) => [
    { 'Content-Length': String(content.length) },
    content
  ],
  'a Content-Length with zeros': (content) => [
    { 'Content-Length': `000${content.length}` },
    content
  ],
  'a chunk': (content) => [chunked, `${chunk(content)}0\r\n\r\n`],
  'the coding in capitals': (content) => [
    { ...chunked, 'Transfer-Encoding': 'CHUNKED' },
    `${chunk(content)}000\r\n\r\n`
  ],
  'chunks with extensions': (content) => [
    chunked,
    `${chunk(content, ';a=1;b="x y"')}0;last\r\n\r\n`
  ],
  trailers: (content) => [
    { ...chunked, Trailer: 'X-Sum' },
    `${chunk(content)}0\r\nX-Sum: 1\r\n\r\n`
  ],
  'a chunk for each byte': (content) => [chunked, parts(content)],
  'Expect: 100-continue': (content) => [
    { 'Content-Length': String(content.length), Expect: '100-continue' },
    content
  ],
  'another expectation': (content) => [
    { ...chunked, Expect: 'cake' },
    `${chunk(content)}0\r\n\r\n`
  ],
  'an upgrade': (content) => [
    {
      'Content-Length': String(content.length),
      Connection: 'upgrade, close',
      Upgrade: 'h2c'
    },
    content
  ]
}

const note = '{"name":"x"}'

/** The response to each content of a request. */
const exchanges: [line: string, content: string, status: number][] = [
  ['POST /v1/notes', note, 201],
  ['POST /v1/notes', note + ' '.repeat(65_524), 201],
  ['POST /v1/notes', note + ' '.repeat(65_525), 413],
  ['POST /v1/notes', '{', 400],
  ['POST /v1/notes', '', 400],
  ['GET /v1/notes/1/replies', '', 200],
  ['GET /v1/notes', note, 400],
  ['HEAD /v1/notes', '', 200],
  ['HEAD /v1/notes', note, 400],
  ['DELETE /v1/notes/404', '', 404],
  ['DELETE /v1/notes/404', note, 400],
  ['GET /livez', '', 200],
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
    for (const [name, framing] of Object.entries(framings)) {
      const [headers, bytes] = framing(content)
      const head = request(line, {
        'Content-Type': 'application/json',
        ...headers
      })
      const response = await send(service, head + bytes)
      t.same(shown(response), shown(first), name)
    }
  })
}

t.test('a request without content needs no Content-Type', async (t) => {
  for (const [headers, bytes] of [
    [{}, ''],
    [{ 'Content-Length': '0' }, ''],
    [chunked, '0\r\n\r\n']
  ] as const) {
    const head = request('POST /v1/notes', headers)
    t.match(await send(service, head + bytes), {
      status: 400,
      body: /body must not be empty/
    })
  }
})

t.test('HTTP/1.0 needs no Host', async (t) => {
  const old = (line: string, body?: string) =>
    send(service, request(`${line} HTTP/1.0`, { Host: undefined }, body))
  t.match(await old('POST /v1/notes', note), { status: 201 })
  t.match(await old('DELETE /v1/notes/404'), { status: 404 })
})

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
