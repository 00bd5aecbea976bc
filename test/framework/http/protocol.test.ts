// What RFC 9110, 9112 and 8259 allow or forbid, in raw requests.
import t from 'tap'
import { startNotes } from '../../support/notes.ts'
import {
  chunked,
  createRequest,
  listRequest,
  request,
  send
} from './raw-requests.ts'

const service = await startNotes(t)

const get = (path: string) => request(`GET ${path}`)

const withType = (type?: string) =>
  createRequest('{}', { 'Content-Type': type })

/** Requests that get an error, by its status and message. */
const rejected: [status: number, message: string, ...requests: string[]][] = [
  [
    404,
    'There is nothing at this path: /docs shows the operations, below /v1/',
    get('/notes')
  ],
  [400, 'The path must be percent-encoded UTF-8', get('/%zz')],
  [
    405,
    'This path supports GET, HEAD, POST, not TRACE',
    request('TRACE /v1/notes', { Authorization: undefined }, '{')
  ],
  [400, 'The URL must not have U+0000', get('/v1/notes?%00')],
  [400, 'The request is not valid HTTP/1.1', request('FOO /v1/notes')],
  [
    400,
    'The request must have a Host header',
    listRequest({ Host: undefined })
  ],
  [
    431,
    'The header section of the request is too large',
    listRequest({ X: 'a'.repeat(20_000) })
  ],
  [
    401,
    'The API key is not valid',
    listRequest({ Authorization: ['Bearer $KEY', 'Bearer $KEY'] })
  ],
  // An operation without a body ignores its Content-Type.
  [
    404,
    'There is no note with the id 404',
    request('DELETE /v1/notes/404', { 'Content-Type': '?' }, '')
  ],

  // The body of a create.
  [
    413,
    'The body is larger than 65536 bytes',
    createRequest('x'.repeat(65_537))
  ],
  [400, 'Content-Type must be application/json', withType('application/jsonx')],
  [
    400,
    'body must not be empty',
    createRequest(),
    createRequest('0\r\n\r\n', { ...chunked, 'Content-Type': undefined })
  ],
  [
    400,
    'The body must be JSON in UTF-8: ',
    createRequest('{"name":"a","n\\u0061me":"b"}'),
    createRequest('['.repeat(60_000)),
    createRequest(Buffer.from('{"name":"\xff"}', 'latin1'))
  ],
  [
    400,
    'The body must be JSON in UTF-8: it has an unpaired surrogate or U+0000',
    createRequest('{"a":[1,{"b":"\\ud83d"}]}'),
    createRequest('{"name":"\\u0000"}')
  ],
  [
    400,
    'body must not have "__proto__"; it may have name, ',
    createRequest('{"name":"x","__proto__":{}}')
  ]
]

/** The headers of every error. */
const errorHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': /^[\w-]{36}$/,
  'cache-control': 'no-store',
  'content-security-policy': /^default-src 'none'; .*frame-ancestors 'none'$/,
  'x-content-type-options': 'nosniff',
  connection: 'close'
}

/** The start of a request, for the name of an assertion. */
const shown = (text: string) => JSON.stringify(text.slice(0, 200))

for (const [status, message, ...requests] of rejected) {
  t.test(`${status}: ${message}`, async (t) => {
    for (const text of requests) {
      const response = await send(service, text)
      t.match(response, { status, headers: errorHeaders }, shown(text))
      t.match(JSON.parse(response.body), { message, status }, shown(text))
    }
  })
}

/** Requests that HTTP, JSON and the OpenAPI document allow. */
const accepted: [status: number, request: string][] = [
  [200, request('GET /v1/notes HTTP/1.0', { Host: undefined })],
  [200, listRequest({ Expect: 'cake' })],
  [201, createRequest('{"name":"\\ud83d\\ude00"}')]
]

t.test('what the standards allow is accepted', async (t) => {
  for (const [status, text] of accepted)
    t.equal((await send(service, text)).status, status, shown(text))
})

const newId = /^[0-9a-f-]{36}$/

t.test('a well-formed X-Request-Id is kept, another is replaced', async (t) => {
  for (const path of ['/livez', '/v1/notes', '/%zz'])
    for (const [id, sent] of [
      ['my-id_1.~', 'my-id_1.~'],
      ['not one', newId],
      ['x'.repeat(129), newId]
    ] as const) {
      const text = request(`GET ${path}`, { 'X-Request-Id': id })
      const { headers } = await send(service, text)
      t.match(headers, { 'x-request-id': sent }, path)
    }
})
