// What RFC 9110, 9112 and 8259 allow or forbid, in raw requests.
import t from 'tap'
import { startNotes } from '../../support/notes.ts'
import { until } from '../../support/until.ts'
import {
  createRequest,
  getRequest,
  chunked,
  type Headers,
  keepAlive,
  listRequest,
  openConnection,
  request,
  send
} from './raw-requests.ts'

const service = await startNotes(t)

const get = (path: string) => request(`GET ${path}`)
const withoutKey = { Authorization: undefined }

/** A request without a body in the OpenAPI document. */
const remove = (body?: string, headers?: Headers) =>
  request('DELETE /v1/notes/404', headers, body)

const withType = (type?: string) =>
  createRequest('{}', { 'Content-Type': type })

/** A create whose name has these bytes. */
const withBytes = (...bytes: number[]) =>
  createRequest(
    Buffer.from(`{"name":"${String.fromCharCode(...bytes)}"}`, 'latin1')
  )

const long = 'a'.repeat(20_000)
/** More headers than a socket buffers. */
const flood = request('GET /', { X: 'a'.repeat(2_000_000) })

/** So many short headers. */
const manyHeaders = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`x${index}`, ''])
  )

/** Requests that get an error, by its status and message. */
const rejected: [status: number, message: string, ...requests: string[]][] = [
  [
    404,
    'There is nothing at this path: /docs shows the operations, below /v1/',
    get('/notes'),
    get('/v1/tags/?%00'),
    get('/docs/static/..%2f..%2fpackage.json')
  ],
  [400, 'The path must be percent-encoded UTF-8', get('/%zz'), get('/%ff')],
  [
    405,
    'This path supports GET, HEAD, POST, not TRACE',
    request('TRACE /v1/notes', withoutKey, '{')
  ],

  [401, 'An API key is required: ', request('GET /v1/notes?%00', withoutKey)],

  [400, 'The URL must not have U+0000', get('/v1/notes?%00')],

  // The syntax of HTTP/1.1.
  [
    400,
    'The request is not valid HTTP/1.1',
    request('FOO /v1/notes'),
    listRequest({ 'Bad Header': 'x' }),
    createRequest('zz\r\n', chunked),
    createRequest('0\r\n\r\n', { 'Transfer-Encoding': 'chunked' })
  ],
  [
    400,
    'The request must have a Host header',
    listRequest({ Host: undefined }),
    request('GET /none', { Host: undefined })
  ],
  [
    431,
    'The header section of the request is too large',
    listRequest({ X: long }),
    get(`/v1/notes?${long}`),
    ...Array<string>(20).fill(flood)
  ],
  [
    401,
    'The API key is not valid',
    listRequest({ Authorization: ['Bearer $KEY', 'Bearer $KEY'] })
  ],

  // A body that the operation does not have.
  [
    400,
    'The request must not have a body',
    remove('garbage', { 'Content-Type': 'text/plain' }),
    // Before the rest, which never comes.
    remove('{', { 'Content-Length': '99999999' }),
    remove('1\r\nx\r\n', chunked)
  ],
  [
    404,
    'There is no note with the id 404',
    remove('', { 'Content-Type': '?' })
  ],

  // The body of a create.
  [
    413,
    'The body is larger than 65536 bytes',
    createRequest('', { 'Content-Length': '1048577' }),
    createRequest(`100001\r\n${'a'.repeat(0x100001)}\r\n0\r\n\r\n`, chunked)
  ],
  [
    400,
    'Content-Type must be application/json',
    ...[undefined, '', 'application/jsonx'].map(withType)
  ],
  [400, 'body must not be empty', createRequest(), createRequest('')],
  [
    400,
    'The body must be JSON in UTF-8: ',
    createRequest('{"name":'),
    createRequest('{"name":"a","n\\u0061me":"b"}'),
    createRequest('['.repeat(60_000)),
    withBytes(0xff),
    // NUL in two bytes.
    withBytes(0xc0, 0x80)
  ],
  [
    400,
    'The body must be JSON in UTF-8: it has an unpaired surrogate or U+0000',
    createRequest('{"a":[1,{"b":"\\ud83d"}]}'),
    createRequest('{"name":"x","\\udc00":1}'),
    createRequest('{"name":"\\u0000"}')
  ],
  // However its type is written, a body is validated.
  [
    400,
    "body must have required property 'name'",
    withType(' application/json'),
    withType('application/json\t; charset=utf-8'),
    withType('APPLICATION/JSON')
  ],
  [
    400,
    'body must not have "__proto__"; it may have name, ',
    createRequest('{"name":"x","__proto__":{}}')
  ],
  [
    400,
    'body.name must NOT have more than 255 characters',
    createRequest(JSON.stringify({ name: '𐀀'.repeat(256) }))
  ]
]

const codes: Record<number, string> = {
  400: 'invalid_request',
  401: 'unauthorized',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  431: 'headers_too_large'
}

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
      const error = { code: codes[status], message, status }
      t.match(JSON.parse(response.body), error, shown(text))
    }
  })
}

t.test('a rejected HEAD has no body', async (t) => {
  const head = request('HEAD /v1/notes', { Host: undefined })
  t.match(await send(service, head), { status: 400, body: '' })
})

t.test('rejected requests store nothing', async (t) => {
  t.equal((await send(service, listRequest())).body, '[]')
})

const accepted: Record<number, string[]> = {
  200: [
    get('http://test/v1/notes'),
    get('/v1/%6Eotes?'),
    request('HEAD /v1/notes'),
    request('GET /v1/notes', {}, ''),
    request('GET /v1/notes HTTP/1.0', { Host: undefined }),
    listRequest({ Host: '' }),
    listRequest({ Connection: 'upgrade, close', Upgrade: 'h2c' }),
    listRequest({ Expect: 'cake' }),
    // Many headers, before the key.
    listRequest({
      ...withoutKey,
      ...manyHeaders(190),
      authorization: 'Bearer $KEY'
    })
  ],
  201: [
    // RFC 8259 gives a charset no effect.
    createRequest('{"name":"x"}', {
      'Content-Type': 'application/json; charset=iso-8859-1'
    }),
    createRequest('c\r\n{"name":"x"}\r\n0\r\n\r\n', {
      ...chunked,
      'Transfer-Encoding': 'Chunked'
    }),
    createRequest('{"name":"\\ud83d\\ude00"}'),
    createRequest('{"name":"x","name":"x"}')
  ]
}

for (const [status, requests] of Object.entries(accepted)) {
  t.test(`${status}: HTTP and the OpenAPI document allow it`, async (t) => {
    for (const text of requests)
      t.equal((await send(service, text)).status, Number(status), shown(text))
  })
}

t.test('a connection stays open after an error', async (t) => {
  const requests = [
    getRequest('/none'),
    createRequest('{', keepAlive),
    listRequest(keepAlive)
  ]
  const { write, statuses } = openConnection(t, service)

  for (const [index, text] of requests.entries()) {
    write(text)
    await until(() => statuses().length > index, 'a response comes')
  }
  t.same(statuses(), [404, 400, 200])
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
