import t from 'tap'
import { startNotes, apiKeyPrefix, realm } from '../../support/notes.ts'
import { until } from '../../support/until.ts'
import {
  createRequest,
  listRequest,
  openConnection,
  request,
  send
} from './raw-requests.ts'

type Headers = Parameters<typeof listRequest>[0]

const anonymous = { Authorization: undefined }
const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }

const getWithKey = (path: string, headers?: Headers) =>
  request(`GET ${path}`, headers)
const headOf = (path: string, headers?: Headers) =>
  request(`HEAD ${path}`, headers)

/** A list with this Authorization. */
const authorized = (Authorization?: string | string[]) =>
  listRequest({ Authorization })

/** A create with this Content-Type. */
const createWithType = (type?: string) =>
  createRequest('{}', { 'Content-Type': type })

/** A create of a note with this name. */
const named = (name: unknown, more: object = {}) =>
  createRequest(JSON.stringify({ name, ...more }))

/** A create whose name has these bytes. */
function namedInBytes(...bytes: number[]): string {
  const name = String.fromCharCode(...bytes)
  return createRequest(Buffer.from(`{"name":"${name}"}`, 'latin1'))
}

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
  'x-content-type-options': 'nosniff'
}

const service = await startNotes(t)

/** The start of a request, for the name of an assertion. */
const shown = (text: string) => JSON.stringify(text.slice(0, 200))

/** Tests that each of the requests gets this error, as JSON. */
function rejects(status: number, message: string, ...requests: string[]): void {
  t.test(`${status}: ${message}`, async (t) => {
    const responses = requests.map((text) => send(service, text))
    for (const [index, response] of (await Promise.all(responses)).entries()) {
      const error = { code: codes[status], message, status }
      t.same(JSON.parse(response.body), error, shown(requests[index] ?? ''))
      t.match(response, { status, headers: errorHeaders })
    }
  })
}

/** Tests that each of the requests succeeds. */
function accepts(status: number, ...requests: string[]): void {
  t.test(`${status}: HTTP and the OpenAPI document allow it`, async (t) => {
    for (const text of requests)
      t.equal((await send(service, text)).status, status, shown(text))
  })
}

// Paths and methods.
rejects(
  404,
  'There is nothing at this path',
  getWithKey('/v1/tags/'),
  getWithKey('*'),
  request('OPTIONS *'),
  getWithKey('/v1/Notes'),
  getWithKey('//v1/notes'),
  getWithKey('/v1%2Fnotes'),
  getWithKey('/docs/static/none.js'),
  getWithKey('/docs/static/..%2f..%2fpackage.json'),
  getWithKey('/v1/dogs', anonymous),
  request('POST /v1/dogs', {}, '{'),
  request('PURGE /v1/dogs')
)
rejects(
  400,
  'The path must be percent-encoded UTF-8',
  getWithKey('/%zz'),
  getWithKey('/v1/notes%ff')
)
rejects(
  400,
  'The path and query must not contain #',
  getWithKey('/v1/notes#x'),
  getWithKey('/v1/notes#'),
  getWithKey('/none?a=1#x', anonymous)
)
rejects(
  405,
  'This path supports GET, HEAD, POST, not PUT',
  request('PUT /v1/notes', anonymous, '{')
)
rejects(
  405,
  'This path supports GET, HEAD, POST, not OPTIONS',
  request('OPTIONS /v1/notes')
)
rejects(
  405,
  'This path supports GET, HEAD, POST, not TRACE',
  request('TRACE /v1/notes')
)
rejects(
  405,
  'This path supports GET, HEAD, not POST',
  request('POST /docs', {}, '{')
)

// The syntax of HTTP/1.1.
rejects(
  400,
  'The request is not valid HTTP/1.1',
  request('get /v1/notes'),
  request('FOO /v1/notes'),
  request('GET /v1/notes HTTP/1.2'),
  listRequest({ 'Bad Header': 'x' }),
  createRequest('{}', { 'Content-Length': ['1', '2'] }),
  createRequest('zz\r\n', chunked),
  // Even with a Content-Length: this smuggles requests past proxies.
  createRequest('0\r\n\r\n', { 'Transfer-Encoding': 'chunked' })
)
rejects(
  400,
  'The method CONNECT is not supported',
  request('CONNECT test:443'),
  request('CONNECT test:443', anonymous)
)
rejects(
  400,
  'The request must have one valid Host header',
  listRequest({ Host: undefined }),
  listRequest({ Host: ['test', 'other'] }),
  listRequest({ Host: 'a b' })
)
const large = 'a'.repeat(20_000)
rejects(
  431,
  'The header section of the request is too large',
  listRequest({ X: large }),
  getWithKey(`/v1/notes?${large}`)
)

// API keys.
rejects(
  401,
  'An API key is required: send the header "Authorization: Bearer <API_KEY>"',
  authorized(undefined),
  authorized('Basic YTpi'),
  authorized('Bearer'),
  // Before the body is read.
  createRequest('{', anonymous),
  createRequest('', { ...anonymous, 'Content-Length': '99999999' })
)
rejects(
  401,
  'The API key is not valid',
  authorized('Bearer abc'),
  authorized(`Bearer ${apiKeyPrefix}${'0'.repeat(48)}`),
  authorized(['Bearer $KEY', 'Bearer $KEY'])
)

// A body and a query that the operation does not have.
const cancel = (body?: string, headers?: Headers) =>
  request('DELETE /v1/notes/404', headers, body)

rejects(
  400,
  'The request must not have a body',
  cancel('{}'),
  cancel('garbage', { 'Content-Type': 'text/plain' }),
  // Larger than any body may be, and never sent.
  cancel('', { 'Content-Length': '99999999' }),
  cancel('1\r\nx\r\n0\r\n\r\n', chunked),
  // Before the rest of it, which never comes.
  cancel('1\r\nx\r\n', chunked),
  request('GET /v1/notes', {}, '{"status":"sold"}'),
  request('GET /v1/notes', chunked, '1\r\nx\r\n0\r\n\r\n'),
  request('GET /v1/notes/1?x=1', {}, 'x')
)
rejects(
  401,
  'The API key is not valid',
  cancel('{}', { Authorization: 'Bearer x' })
)
rejects(
  400,
  'query must not have the parameter "a"; it may have none; ' +
    'query must not have the parameter "b"; it may have none',
  getWithKey('/v1/notes?a=1&b=%zz'),
  getWithKey('/v1/notes?a=1&b')
)
// One URL for each note.
rejects(
  400,
  'path.noteId must be an integer from -9223372036854775808 to 9223372036854775807',
  getWithKey('/v1/notes/01'),
  getWithKey('/v1/notes/-0'),
  getWithKey('/v1/notes/-01'),
  getWithKey('/v1/notes/00'),
  getWithKey('/v1/notes/+1'),
  getWithKey('/v1/notes/%2B1')
)
rejects(404, 'There is no note with the id 0', getWithKey('/v1/notes/0'))
rejects(404, 'There is no note with the id -1', getWithKey('/v1/notes/-1'))
rejects(404, 'There is no note with the id 10', getWithKey('/v1/notes/1%30'))

// Preconditions (RFC 9110, section 13.1).
rejects(
  400,
  'The operation does not support If-Match: leave it out',
  cancel('', { 'If-Match': '"x"' }),
  createRequest('{"name":"x"}', { 'If-Match': '*' }),
  // Before the body is read.
  createRequest('{', { 'If-Match': '' }),
  listRequest({ 'If-Match': '"x"' })
)
rejects(
  400,
  'The operation does not support If-None-Match: leave it out',
  cancel('', { 'If-None-Match': '*' }),
  createRequest('{"name":"x"}', { 'If-None-Match': '*' })
)
rejects(
  401,
  'The API key is not valid',
  cancel('', { 'If-Match': '*', Authorization: 'Bearer x' })
)

// An empty body is none, whatever its type and coding.
rejects(
  404,
  'There is no note with the id 404',
  cancel(''),
  cancel('', { 'Content-Type': '?' }),
  cancel('', { 'Content-Type': 'text/plain', 'Content-Length': '00' }),
  cancel('0\r\n\r\n', chunked),
  cancel('0\r\n\r\n', { ...chunked, 'Content-Type': undefined })
)

// Size and type of the body.
const oversized = { 'Content-Length': '1048577' }
const oversizedChunk = `100001\r\n${'a'.repeat(0x100001)}\r\n0\r\n\r\n`
rejects(
  413,
  'The body is larger than this deployment accepts',
  createRequest('', { ...oversized, 'Content-Type': 'application/json' }),
  createRequest('', { ...oversized, 'Content-Type': 'text/plain' }),
  createRequest(oversizedChunk, chunked)
)
rejects(
  400,
  'Content-Type must be application/json, not left out',
  createWithType()
)
rejects(
  400,
  'Content-Type must be application/json',
  createWithType(''),
  createWithType('?'),
  createWithType('application/json, text/plain')
)
rejects(
  400,
  'Content-Type must be application/json, not text/plain',
  createWithType('text/plain')
)
rejects(
  400,
  'Content-Type must be application/json, not application/jsonx',
  createWithType('application/jsonx')
)
rejects(
  400,
  'Content-Encoding must be left out',
  createRequest('{}', { 'Content-Encoding': 'gzip' })
)

// JSON.
rejects(
  400,
  'body must not be empty',
  createRequest(),
  createRequest(undefined, { 'Content-Type': 'application/json' }),
  createRequest('')
)
rejects(
  400,
  'body must be an object',
  createRequest('null'),
  createRequest('[]')
)
rejects(
  400,
  'The body must not be nested so deeply',
  createRequest('['.repeat(60_000))
)
rejects(
  400,
  'The body must be UTF-8',
  namedInBytes(0xff),
  // A surrogate.
  namedInBytes(0xed, 0xa0, 0x80),
  // NUL in two bytes.
  namedInBytes(0xc0, 0x80)
)
rejects(
  400,
  'The body must not have unpaired surrogates',
  createRequest('{"name":"\\ud83d"}'),
  createRequest('{"a":[1,{"b":"\\ud83d"}]}'),
  createRequest('{"name":"x","\\udc00":1}')
)

const notJson = {
  'has no value': '{"name":',
  'begins with U+FEFF': '\ufeff{"name":"a"}',
  'has two values of a property': '{"name":"a","n\\u0061me":"b"}'
}

for (const [fault, body] of Object.entries(notJson)) {
  t.test(`400: The body must be JSON, but ${fault}`, async (t) => {
    const response = await send(service, createRequest(body))
    t.match(response, { status: 400, headers: errorHeaders })
    const error: unknown = JSON.parse(response.body)
    t.match(error, {
      code: 'invalid_request',
      message: /^The body must be JSON: ./,
      status: 400
    })
  })
}

// The schema: however the type is written, the body is validated.
rejects(
  400,
  'body must have the property "name"',
  createWithType(' application/json'),
  createWithType('application/json\t'),
  createWithType('application/json\t; charset=utf-8'),
  createWithType('application/json;charset="UTF-8"'),
  createWithType('APPLICATION/JSON')
)
rejects(
  400,
  'body must not have the property "id"; it may have: name, description, size, dueAt',
  createRequest('{"name":"x","id":{}}')
)
rejects(
  400,
  'body must not have the property "__proto__"; it may have: name, description, size, dueAt',
  createRequest('{"name":"x","__proto__":{}}')
)
rejects(
  400,
  'body must have the property "name"; ' +
    'body must not have the property "Name"; it may have: name, description, size, dueAt',
  createRequest('{"Name":{}}')
)
rejects(
  400,
  'body.name must be a string',
  named(null),
  named(1),
  createRequest('{"name":12345678901234567890}')
)
rejects(400, 'body.name must not be empty', named(''))
rejects(
  400,
  'body.name must have at most 255 characters',
  named('𐀀'.repeat(256)),
  named('x'.repeat(65_525))
)
rejects(400, 'body.name must not contain NUL (U+0000)', named('a\0'))
rejects(
  400,
  'body.description must be a string',
  named('x', { description: null })
)
rejects(
  400,
  'body.description must have at most 2000 characters',
  named('x', { description: 'x'.repeat(2001) })
)

t.test('rejected requests store nothing', async (t) => {
  t.equal((await send(service, listRequest())).body, '[]')
})

const manyHeaders: Headers = {}
for (let index = 0; index < 2000; index++) manyHeaders[index.toString(36)] = ''

accepts(
  200,
  getWithKey('http://test/v1/notes'),
  getWithKey('/v1/%6Eotes'),
  headOf('/v1/notes'),
  getWithKey('/v1/notes?'),
  request('GET /v1/notes', {}, ''),
  request('GET /v1/notes', chunked, '0\r\n\r\n'),
  getWithKey('/v1/notes HTTP/1.0', { Host: undefined }),
  listRequest({ Host: '' }),
  listRequest({ Connection: 'upgrade, close', Upgrade: 'h2c' }),
  listRequest({ Expect: 'cake' }),
  // As many headers as fit, before the key.
  listRequest({ ...anonymous, ...manyHeaders, authorization: 'Bearer $KEY' }),
  authorized('bearer $KEY'),
  authorized('BEARER $KEY')
)
accepts(
  201,
  // RFC 8259 gives a charset no effect.
  createRequest('{"name":"x"}', {
    'Content-Type': 'application/json; charset=iso-8859-1'
  }),
  createRequest('c\r\n{"name":"x"}\r\n0\r\n\r\n', {
    ...chunked,
    'Transfer-Encoding': 'Chunked'
  }),
  named('𐀀'.repeat(255), { description: '𐀀'.repeat(2000) }),
  createRequest('{"name":"\\ud83d\\ude00"}'),
  createRequest('{"name":"x","name":"x"}')
)

t.test('a connection stays open after a rejected body or Host', async (t) => {
  const kept = { Connection: 'keep-alive' }
  const requests = [
    createRequest('{', kept),
    request('GET /livez', { ...kept, Host: 'a b' }),
    listRequest()
  ]

  const { write, closed, statuses } = openConnection(t, service)
  for (const [index, text] of requests.entries()) {
    write(text)
    await until(() => statuses()?.length === index + 1, 'a response comes')
  }
  await closed

  t.same(statuses(), ['400', '400', '200'])
})

t.test('a connection stays open after an empty body', async (t) => {
  const kept = { Connection: 'keep-alive' }
  const empty = cancel('0\r\n\r\n', { ...chunked, ...kept })
  const { write, closed, statuses } = openConnection(t, service)

  for (const [index, text] of [
    empty,
    cancel('', kept),
    listRequest()
  ].entries()) {
    write(text)
    await until(() => statuses()?.length === index + 1, 'a response comes')
  }
  await closed
  t.same(statuses(), ['404', '404', '200'])
})

t.test(
  'a connection closes after a body that is not allowed, before the rest of it',
  async (t) => {
    const kept = { Connection: 'keep-alive', 'Content-Length': '1000000000' }
    const response = await send(service, cancel('{', kept))
    t.match(response, { status: 400, headers: { connection: 'close' } })
  }
)

const challenge = `Bearer realm="${realm}"`

t.test('a 401 without a key has the challenge of RFC 6750', async (t) => {
  const requests = [
    listRequest(anonymous),
    headOf('/v1/notes', anonymous),
    authorized('Basic YTpi')
  ]
  for (const text of requests) {
    const headers = { 'www-authenticate': challenge }
    t.match(await send(service, text), { status: 401, headers }, shown(text))
  }
})

t.test('the challenge after an invalid key has an error', async (t) => {
  const headers = {
    'www-authenticate': `${challenge}, error="invalid_token"`
  }
  const response = await send(service, authorized('bearer abc'))
  t.match(response, { status: 401, headers })
})

t.test('a well-formed X-Request-Id is kept, another is replaced', async (t) => {
  const idFor = async (path: string, id: string) => {
    const response = await send(
      service,
      getWithKey(path, { 'X-Request-Id': id })
    )

    return response.headers['x-request-id']
  }

  for (const path of ['/livez', '/v1/notes', '/none', '/%zz']) {
    t.equal(await idFor(path, 'my-id_1.~'), 'my-id_1.~', path)
    t.match(await idFor(path, 'not one'), /^[0-9a-f-]{36}$/, path)
    t.match(await idFor(path, 'x'.repeat(129)), /^[0-9a-f-]{36}$/, path)
  }
})

const noSource = "default-src 'none'; frame-ancestors 'none'"
const successes = [
  {
    title: 'a list',
    request: listRequest(),
    caching: 'private, no-cache',
    policy: noSource
  },
  {
    title: 'a create',
    request: createRequest('{"name":"x"}'),
    caching: 'no-store',
    policy: noSource
  },
  {
    title: 'the docs page',
    request: getWithKey('/docs'),
    caching: 'no-store',
    policy: /script-src 'self'.*frame-ancestors 'none'/
  }
]

for (const { title, request: text, caching, policy } of successes) {
  t.test(`${title} has the headers for browsers and caches`, async (t) => {
    t.match((await send(service, text)).headers, {
      'x-content-type-options': 'nosniff',
      'strict-transport-security': undefined,
      'cache-control': caching,
      'content-security-policy': policy
    })
  })
}

t.test('the 431 reaches a client that still sends its headers', async (t) => {
  const flood = `GET / HTTP/1.1\r\nHost: test\r\nX: ${'a'.repeat(2_000_000)}`
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => send(service, flood))
  )
  for (const { status } of responses) t.equal(status, 431)
})
