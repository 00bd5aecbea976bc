import t, { type Test } from 'tap'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { create, list, open, request, send } from './raw.ts'

const anonymous = { Authorization: undefined }
const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }
const ofType = (type?: string) => create('{}', { 'Content-Type': type })
const named = (name: unknown, more: object = {}) =>
  create(JSON.stringify({ name, ...more }))
const inName = (...bytes: number[]) =>
  create(Buffer.from(`{"name":"${String.fromCharCode(...bytes)}"}`, 'latin1'))
const get = (path: string, headers?: Record<string, string | undefined>) =>
  request(`GET ${path}`, headers)
const head = (headers?: object) =>
  request('HEAD /v1/categories', { ...headers })

const codes: Record<number, string> = {
  400: 'invalid_request',
  401: 'unauthorized',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  431: 'headers_too_large'
}

const service = await startService(t)
const shown = (request: string) => JSON.stringify(request.slice(0, 200))

/** Every one of the requests gets the error, as JSON and with the headers of every response. */
function rejects(status: number, message: string, ...requests: string[]): void {
  const check = async (t: Test, request: string) => {
    const { body, ...head } = await send(service, request)
    t.same(
      JSON.parse(body),
      { code: codes[status], message, status },
      shown(request)
    )
    t.match(head, { status, headers: ofErrors })
  }
  t.test(`${status}: ${message}`, (t) =>
    Promise.all(requests.map((request) => check(t, request)))
  )
}
const ofErrors = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': /^[\w-]{36}$/,
  'cache-control': 'no-store',
  'content-security-policy': /^default-src 'none'; .*frame-ancestors 'none'$/,
  'x-content-type-options': 'nosniff'
}

const unknownPaths = [
  '/v1/categories/',
  '/v1/Categories',
  '//v1/categories',
  '/v1%2Fcategories'
]
const unknownFiles = [
  '/docs/static/none.js',
  '/docs/static/..%2f..%2fpackage.json'
]
const unknown = [...unknownPaths, ...unknownFiles].map((path) => get(path))
const dogs = [
  get('/v1/dogs', anonymous),
  request('POST /v1/dogs', {}, '{'),
  request('PURGE /v1/dogs')
]
rejects(404, 'There is nothing at this path', ...unknown, ...dogs)
rejects(
  400,
  'The path must be percent-encoded UTF-8',
  get('/%zz'),
  get('/v1/categories%ff')
)
rejects(
  405,
  'This path supports GET, HEAD, POST, not PUT',
  request('PUT /v1/categories', anonymous, '{')
)
for (const method of ['OPTIONS', 'TRACE'])
  rejects(
    405,
    `This path supports GET, HEAD, POST, not ${method}`,
    request(`${method} /v1/categories`)
  )
rejects(
  405,
  'This path supports GET, HEAD, not POST',
  request('POST /docs', {}, '{')
)

const smuggled = create('0\r\n\r\n', { 'Transfer-Encoding': 'chunked' })
const lines = [
  'get /v1/categories',
  'FOO /v1/categories',
  'GET /v1/categories HTTP/1.2'
].map((line) => request(line))
const sizes = [
  create('{}', { 'Content-Length': ['1', '2'] }),
  create('zz\r\n', chunked),
  smuggled
]
rejects(
  400,
  'The request is not valid HTTP/1.1',
  ...lines,
  list({ 'Bad Header': 'x' }),
  ...sizes
)
const hosts = [undefined, ['test', 'other'], 'a b']
rejects(
  400,
  'The request must have one valid Host header',
  ...hosts.map((Host) => list({ Host }))
)
const large = 'a'.repeat(20_000)
rejects(
  431,
  'The header section of the request is too large',
  list({ X: large }),
  get(`/v1/categories?${large}`)
)

const keyless = [undefined, 'Basic YTpi', 'Bearer'].map((Authorization) =>
  list({ Authorization })
)
// Before the body is read.
const unread = [
  create('{', anonymous),
  create('', { ...anonymous, 'Content-Length': '99999999' })
]
rejects(
  401,
  'An API key is required: send the header "Authorization: Bearer <API_KEY>"',
  ...keyless,
  ...unread
)
const wrongKeys = [
  'Bearer abc',
  `Bearer petcat_${'0'.repeat(48)}`,
  ['Bearer $KEY', 'Bearer $KEY']
]
rejects(
  401,
  'The API key is not valid',
  ...wrongKeys.map((Authorization) => list({ Authorization }))
)

const oversized = ['application/json', 'text/plain'].map((type) =>
  create('', { 'Content-Type': type, 'Content-Length': '1048577' })
)
const oversizedChunk = create(
  `100001\r\n${'a'.repeat(0x100001)}\r\n0\r\n\r\n`,
  chunked
)
rejects(
  413,
  'The body is larger than this deployment accepts',
  ...oversized,
  oversizedChunk
)
rejects(400, 'Content-Type must be application/json, not left out', ofType())
rejects(
  400,
  'Content-Type must be application/json',
  ...['', '?', 'application/json, text/plain'].map(ofType)
)
for (const type of ['text/plain', 'application/jsonx'])
  rejects(
    400,
    `Content-Type must be application/json, not ${type}`,
    ofType(type)
  )
rejects(
  400,
  'Content-Encoding must be left out',
  create('{}', { 'Content-Encoding': 'gzip' })
)

const empty = [
  create(),
  create(undefined, { 'Content-Type': 'application/json' }),
  create('')
]
rejects(400, 'body must not be empty', ...empty)
rejects(400, 'body must be an object', create('null'), create('[]'))
for (const [message, body] of [
  ["Object value expected after ':' at position 8", '{"name":'],
  ["JSON value expected but got '\ufeff' at position 0", '\ufeff{"name":"a"}'],
  [
    "Duplicate key 'name' encountered at position 13",
    '{"name":"a","n\\u0061me":"b"}'
  ]
] as const)
  rejects(400, `The body must be JSON: ${message}`, create(body))
rejects(
  400,
  'The body must not be nested so deeply',
  create('['.repeat(60_000))
)
// A single byte, a surrogate, and NUL in two bytes.
rejects(
  400,
  'The body must be UTF-8',
  inName(0xff),
  inName(0xed, 0xa0, 0x80),
  inName(0xc0, 0x80)
)
const unpaired = [
  '{"name":"\\ud83d"}',
  '{"a":[1,{"b":"\\ud83d"}]}',
  '{"name":"x","\\udc00":1}'
]
rejects(
  400,
  'The body must not have unpaired surrogates',
  ...unpaired.map((body) => create(body))
)

// However the type is written, the body is validated.
const types = [
  ' application/json',
  'application/json\t',
  'application/json\t; charset=utf-8',
  'APPLICATION/JSON'
]
rejects(
  400,
  'body must have the property "name"',
  ...types.map(ofType),
  ofType('application/json;charset="UTF-8"')
)
const surplus = (name: string) =>
  `body must not have the property "${name}"; it may have: name, description`
for (const name of ['id', '__proto__'])
  rejects(400, surplus(name), create(`{"name":"x","${name}":{}}`))
rejects(
  400,
  `body must have the property "name"; ${surplus('Name')}`,
  create('{"Name":{}}')
)
rejects(
  400,
  'body.name must be a string',
  named(null),
  named(1),
  create('{"name":12345678901234567890}')
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
  t.equal((await send(service, list())).body, '[]')
})

const many = Object.fromEntries(
  Array.from({ length: 2000 }, (_, index) => [index.toString(36), ''] as const)
)
const accepts = (status: number, ...requests: string[]) =>
  t.test(
    `${status} for what HTTP and the OpenAPI document allow`,
    async (t) => {
      for (const request of requests)
        t.equal((await send(service, request)).status, status, shown(request))
    }
  )

accepts(
  200,
  get('http://test/v1/categories'),
  get('/v1/%63ategories'),
  head(),
  get('/v1/categories?a=1&b=%zz'),
  get('/v1/categories HTTP/1.0', { Host: undefined }),
  list({ Host: '' }),
  list({ Connection: 'upgrade, close', Upgrade: 'h2c' }),
  list({ Expect: 'cake' }),
  // As many headers as fit, before the key.
  get('/v1/categories', {
    ...anonymous,
    ...many,
    authorization: 'Bearer $KEY'
  }),
  ...['bearer $KEY', 'BEARER $KEY'].map((Authorization) =>
    list({ Authorization })
  )
)
accepts(
  201,
  // RFC 8259 gives a charset no effect.
  create('{"name":"x"}', {
    'Content-Type': 'application/json; charset=iso-8859-1'
  }),
  create('c\r\n{"name":"x"}\r\n0\r\n\r\n', {
    ...chunked,
    'Transfer-Encoding': 'Chunked'
  }),
  named('𐀀'.repeat(255), { description: '𐀀'.repeat(2000) }),
  create('{"name":"\\ud83d\\ude00"}'),
  create('{"name":"x","name":"x"}')
)

t.test('a connection stays open after a rejected body or Host', async (t) => {
  const kept = { Connection: 'keep-alive' }
  const requests = [
    create('{', kept),
    request('GET /livez', { ...kept, Host: 'a b' }),
    list()
  ]
  const { write, closed, statuses } = open(t, service)
  for (const [index, bytes] of requests.entries()) {
    await write(bytes)
    await until(() => statuses()?.length === index + 1, 'a response comes')
  }
  await closed
  t.same(statuses(), ['400', '400', '200'])
})

t.test(
  'a 401 has the challenge of RFC 6750, with an error only if a key was sent',
  async (t) => {
    const realm = 'Bearer realm="pet-categories"'
    for (const [request, challenge] of [
      [list(anonymous), realm],
      [head(anonymous), realm],
      [list({ Authorization: 'Basic YTpi' }), realm],
      [list({ Authorization: 'bearer abc' }), `${realm}, error="invalid_token"`]
    ] as const) {
      t.match(
        await send(service, request),
        { status: 401, headers: { 'www-authenticate': challenge } },
        shown(request)
      )
    }
  }
)

t.test('a well-formed X-Request-Id is kept, another is replaced', async (t) => {
  const idFor = async (path: string, id: string) =>
    (await send(service, get(path, { 'X-Request-Id': id }))).headers[
      'x-request-id'
    ]
  for (const path of ['/livez', '/v1/categories', '/none', '/%zz']) {
    t.equal(await idFor(path, 'my-id_1.~'), 'my-id_1.~', path)
    for (const id of ['not one', 'x'.repeat(129)])
      t.match(await idFor(path, id), /^[0-9a-f-]{36}$/, path)
  }
})

t.test(
  'a successful response forbids framing and sniffing, and says who may cache it',
  async (t) => {
    const policy = "default-src 'none'; frame-ancestors 'none'"
    for (const [request, cache, expected] of [
      [list(), 'private, no-cache', policy],
      [create('{"name":"x"}'), 'no-store', policy],
      [get('/docs'), 'no-store', /script-src 'self'.*frame-ancestors 'none'/]
    ] as const) {
      t.match((await send(service, request)).headers, {
        'x-content-type-options': 'nosniff',
        'strict-transport-security': undefined,
        'cache-control': cache,
        'content-security-policy': expected
      })
    }
  }
)

t.test(
  'the 431 reaches a client that is still sending its headers',
  async (t) => {
    const flood = `GET / HTTP/1.1\r\nHost: test\r\nX: ${'a'.repeat(2_000_000)}`
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => send(service, flood))
    )
    for (const { status } of responses) t.equal(status, 431)
  }
)
