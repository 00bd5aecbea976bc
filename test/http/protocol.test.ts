import t from 'tap'
import { parseRaw, sendRaw, startService } from '../support/service.ts'

interface Request {
  method?: string
  target?: string
  version?: string
  /** Header lines; these are sent beside Host, Authorization and Connection. */
  headers?: string[]
  /** Whether Authorization is left out. */
  anonymous?: boolean
  body?: string | Buffer
}

/** The bytes of a request, by default a POST of JSON with a key. */
function bytesOf(key: string, request: Request): Buffer {
  const { method = 'POST', target = '/v1/categories', version = '1.1', anonymous = false, body } = request
  const headers = request.headers ?? ['Host: test', 'Content-Type: application/json']
  const lines = [`${method} ${target} HTTP/${version}`, ...headers]
  if (!headers.some((line) => line.startsWith('Connection'))) lines.push('Connection: close')
  if (!anonymous) lines.push(`Authorization: Bearer ${key}`)
  if (body !== undefined && !headers.some((line) => /^(Content-Length|Transfer-Encoding)/.test(line))) {
    lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
  }
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body ?? '')])
}

const json = (value: unknown) => JSON.stringify(value)
const type = (contentType: string): Request => ({
  headers: ['Host: test', `Content-Type: ${contentType}`],
  body: '{}'
})
const read = (...headers: string[]): Request => ({ method: 'GET', headers: ['Host: test', ...headers] })
const raw = (...values: number[]): Request => ({
  body: Buffer.concat([Buffer.from('{"name":"'), Buffer.from(values), Buffer.from('"}')])
})

const invalidHttp = 'The request is not valid HTTP/1.1'
const nothing = 'There is nothing at this path'
const noKey = 'An API key is required: send the header "Authorization: Bearer <API_KEY>"'
const badKey = 'The API key is not valid'
const tooLarge = 'The body must not be larger than 65536 bytes'
const missingName = 'body must have the property "name"'
const tooDeep = 'The body must not be nested deeper than 64 levels'
const surrogate = 'must be Unicode text: it holds an unpaired surrogate'
const badPath = 'The path is not valid: percent signs must be followed by two hexadecimal digits of UTF-8'
const codes: Record<number, string> = {
  400: 'invalid_request',
  401: 'unauthorized',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  417: 'expectation_failed',
  431: 'headers_too_large'
}

const refused: [title: string, request: Request, status: number, message: string][] = [
  ['a trailing slash', { ...read(), target: '/v1/categories/' }, 404, nothing],
  ['another case', { ...read(), target: '/v1/Categories' }, 404, nothing],
  ['doubled slashes', { ...read(), target: '//v1/categories' }, 404, nothing],
  ['an encoded slash', { ...read(), target: '/v1%2Fcategories' }, 404, nothing],
  ['an unknown path without a key', { ...read(), target: '/v1/pets', anonymous: true }, 404, nothing],
  ['an unknown path with a broken body', { target: '/v1/pets', body: '{' }, 404, nothing],
  ['an unknown method on an unknown path', { ...read(), method: 'PURGE', target: '/v1/pets' }, 404, nothing],
  ['a percent sign alone', { ...read(), target: '/%zz' }, 400, badPath],
  ['percent signs that are not UTF-8', { ...read(), target: '/v1/categories%ff' }, 400, badPath],
  ['PUT', { method: 'PUT', body: '{', anonymous: true }, 405, 'This path does not take PUT; it takes GET, HEAD, POST'],
  ['OPTIONS', { ...read(), method: 'OPTIONS' }, 405, 'This path does not take OPTIONS; it takes GET, HEAD, POST'],
  ['TRACE', { ...read(), method: 'TRACE' }, 405, 'This path does not take TRACE; it takes GET, HEAD, POST'],
  ['POST to the docs', { target: '/docs', body: '{' }, 405, 'This path does not take POST; it takes GET, HEAD'],
  ['a file that the docs lack', { ...read(), target: '/docs/static/none.js' }, 404, nothing],
  ['a path out of the docs', { ...read(), target: '/docs/static/..%2f..%2fpackage.json' }, 404, nothing],

  ['a method in lower case', { ...read(), method: 'get' }, 400, invalidHttp],
  ['a method that HTTP lacks', { ...read(), method: 'FOO' }, 400, invalidHttp],
  ['CONNECT', { ...read(), method: 'CONNECT', target: 'test:1' }, 400, 'CONNECT is for proxies'],
  ['HTTP/2.0', { ...read(), version: '2.0' }, 400, 'The request must be HTTP/1.1, not HTTP/2.0'],
  ['HTTP/1.2', { ...read(), version: '1.2' }, 400, invalidHttp],
  ['no Host', { method: 'GET', headers: [] }, 400, 'The Host header is missing'],
  ['two Hosts', read('Host: other'), 400, 'The Host header is given more than once'],
  ['a Host that is none', { method: 'GET', headers: ['Host: a b'] }, 400, 'The Host header is not a host'],
  ['a space in a header name', read('Bad Header: x'), 400, invalidHttp],
  ['a folded header', read('X-Folded: a', ' b'), 400, invalidHttp],
  ['NUL in a header', read('X-Nul: a\0b'), 400, invalidHttp],
  [
    'an oversized header',
    read(`X-Large: ${'a'.repeat(20_000)}`),
    431,
    'The header section of the request is too large'
  ],
  [
    'an oversized target',
    { ...read(), target: `/v1/categories?${'a'.repeat(20_000)}` },
    431,
    'The header section of the request is too large'
  ],
  ['another expectation', read('Expect: cake'), 417, 'Expect must be 100-continue or be left out'],
  [
    'two Content-Lengths',
    { headers: ['Host: test', 'Content-Length: 1', 'Content-Length: 2'], body: '{}' },
    400,
    invalidHttp
  ],
  ['a negative Content-Length', { headers: ['Host: test', 'Content-Length: -1'] }, 400, invalidHttp],
  [
    'Content-Length and chunks',
    { headers: ['Host: test', 'Content-Length: 5', 'Transfer-Encoding: chunked'], body: '0\r\n\r\n' },
    400,
    invalidHttp
  ],
  [
    'a broken chunk',
    { headers: ['Host: test', 'Content-Type: application/json', 'Transfer-Encoding: chunked'], body: 'zz\r\n' },
    400,
    invalidHttp
  ],
  [
    'a chunk extension without end',
    {
      headers: ['Host: test', 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
      body: `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`
    },
    413,
    'The chunk extensions of the body are too large'
  ],
  [
    'another transfer coding',
    {
      headers: ['Host: test', 'Content-Type: application/json', 'Transfer-Encoding: gzip, chunked'],
      body: '2\r\n{}\r\n0\r\n\r\n'
    },
    400,
    'Transfer-Encoding must be chunked or be left out'
  ],

  ['no key', { ...read(), anonymous: true }, 401, noKey],
  ['no key and a broken body', { body: '{', anonymous: true }, 401, noKey],
  [
    'no key and an oversized body',
    { headers: ['Host: test', 'Content-Length: 99999999'], anonymous: true },
    401,
    noKey
  ],
  ['another scheme', { ...read('Authorization: Basic YTpi'), anonymous: true }, 401, noKey],
  ['a scheme without a key', { ...read('Authorization: Bearer'), anonymous: true }, 401, noKey],
  ['a key that is none', { ...read('Authorization: Bearer abc'), anonymous: true }, 401, badKey],
  [
    'a key with a wrong checksum',
    { ...read(`Authorization: Bearer petcat_${'0'.repeat(48)}`), anonymous: true },
    401,
    badKey
  ],

  [
    'an oversized body',
    { headers: ['Host: test', 'Content-Type: application/json', 'Content-Length: 1048577'] },
    413,
    tooLarge
  ],
  [
    'an oversized body of another type',
    { headers: ['Host: test', 'Content-Type: text/plain', 'Content-Length: 1048577'] },
    413,
    tooLarge
  ],
  [
    'an oversized body of no type that exists',
    { headers: ['Host: test', 'Content-Type: ?', 'Content-Length: 1048577'] },
    413,
    tooLarge
  ],
  [
    'an oversized body in chunks',
    {
      headers: ['Host: test', 'Content-Type: text/plain', 'Transfer-Encoding: chunked'],
      body: `100001\r\n${'a'.repeat(0x100001)}\r\n0\r\n\r\n`
    },
    413,
    tooLarge
  ],

  [
    'no Content-Type',
    { headers: ['Host: test'], body: '{"name":"x"}' },
    400,
    'Content-Type must be application/json, not left out'
  ],
  ['an empty Content-Type', type(''), 400, 'Content-Type must be application/json'],
  ['a Content-Type that is none', type('?'), 400, 'Content-Type must be application/json'],
  ['two Content-Types in one', type('application/json, text/plain'), 400, 'Content-Type must be application/json'],
  ['text/plain', type('text/plain'), 400, 'Content-Type must be application/json, not text/plain'],
  ['application/jsonx', type('application/jsonx'), 400, 'Content-Type must be application/json, not application/jsonx'],
  [
    'a form',
    type('application/x-www-form-urlencoded'),
    400,
    'Content-Type must be application/json, not application/x-www-form-urlencoded'
  ],
  ['another charset', type('application/json; charset=iso-8859-1'), 400, 'The charset must be utf-8, not iso-8859-1'],
  [
    'a Content-Encoding',
    { headers: ['Host: test', 'Content-Type: application/json', 'Content-Encoding: gzip'], body: '{}' },
    400,
    'Content-Encoding must be left out: bodies are read as they are'
  ],
  // However the type is written, the body is validated.
  ['a space before the type', type(' application/json'), 400, missingName],
  ['a tab after the type', type('application/json\t'), 400, missingName],
  ['a tab before a parameter', type('application/json\t; charset=utf-8'), 400, missingName],
  ['the type in capitals', type('APPLICATION/JSON'), 400, missingName],
  ['the type and the charset', type('application/json;charset="UTF-8"'), 400, missingName],

  ['no body', {}, 400, 'body must be an object, not null or left out'],
  ['no body and no type', { headers: ['Host: test'] }, 400, 'body must be an object, not null or left out'],
  ['an empty body', { body: '' }, 400, 'body must be an object, not null or left out'],
  ['null', { body: 'null' }, 400, 'body must be an object, not null or left out'],
  ['an array', { body: '[]' }, 400, 'body must be an object, not an array'],
  ['a string', { body: '"x"' }, 400, 'body must be an object, not "x"'],
  ['a number', { body: '1' }, 400, 'body must be an object, not a number'],
  [
    'half of an object',
    { body: '{"name":' },
    400,
    "The body must be JSON: Object value expected after ':' at position 8"
  ],
  [
    'two objects',
    { body: '{"name":"a"}{}' },
    400,
    "The body must be JSON: Expected end of input but got '{' at position 12"
  ],
  [
    'a comma too many',
    { body: '{"name":"a",}' },
    400,
    "The body must be JSON: Quoted object key expected but got '}' at position 12"
  ],
  [
    'a byte order mark',
    { body: '\ufeff{"name":"a"}' },
    400,
    "The body must be JSON: JSON value expected but got '\ufeff' at position 0"
  ],
  [
    'a control character',
    { body: '{"name":"\u0001"}' },
    400,
    "The body must be JSON: Invalid character '\u0001' at position 9"
  ],
  ['nesting that ends the stack of the parser', { body: '['.repeat(60_000) }, 400, tooDeep],
  // As deep as the parser goes, with an escape that could be half of a surrogate pair.
  ['nesting of 4,200 levels', { body: `${'['.repeat(4200)}"\\ud83d"${']'.repeat(4200)}` }, 400, tooDeep],
  ['nesting of 65 arrays', { body: `${'['.repeat(65)}${']'.repeat(65)}` }, 400, tooDeep],
  ['nesting of 65 objects', { body: `${'{"a":'.repeat(64)}{}${'}'.repeat(64)}` }, 400, tooDeep],
  [
    'nesting of 64 arrays, which is allowed',
    { body: `${'['.repeat(64)}${']'.repeat(64)}` },
    400,
    'body must be an object, not an array'
  ],
  [
    'a property given twice',
    { body: '{"name":"a","n\\u0061me":"b"}' },
    400,
    "The body must be JSON: Duplicate key 'name' encountered at position 13"
  ],
  ['a byte that is not UTF-8', raw(0xff), 400, 'The body must be UTF-8'],
  ['a surrogate in UTF-8', raw(0xed, 0xa0, 0x80), 400, 'The body must be UTF-8'],
  ['an overlong NUL', raw(0xc0, 0x80), 400, 'The body must be UTF-8'],

  ['no name', { body: '{}' }, 400, missingName],
  [
    'name in capitals',
    { body: '{"Name":"x"}' },
    400,
    `${missingName}; body must not have the property "Name"; it may have: name, description`
  ],
  ['a name that is null', { body: '{"name":null}' }, 400, 'body.name must be a string, not null'],
  ['a name that is a number', { body: '{"name":1}' }, 400, 'body.name must be a string, not a number'],
  [
    'a name that is a large number',
    { body: '{"name":12345678901234567890}' },
    400,
    'body.name must be a string, not a number'
  ],
  ['a name that is a list', { body: '{"name":["x"]}' }, 400, 'body.name must be a string, not an array'],
  ['an empty name', { body: '{"name":""}' }, 400, 'body.name must have at least 1 character'],
  [
    'a name of 256 characters',
    { body: json({ name: '𐀀'.repeat(256) }) },
    400,
    'body.name must have at most 255 characters'
  ],
  [
    'a name as large as a body may be',
    { body: json({ name: 'x'.repeat(65_525) }) },
    400,
    'body.name must have at most 255 characters'
  ],
  ['NUL in a name', { body: '{"name":"a\\u0000"}' }, 400, 'body.name must not contain NUL (U+0000)'],
  ['half a surrogate pair in a name', { body: '{"name":"\\ud83d"}' }, 400, `body.name ${surrogate}`],
  [
    'half a surrogate pair in a property',
    { body: '{"name":"x","\\udc00":1}' },
    400,
    'body must be Unicode text: the name of a property holds an unpaired surrogate'
  ],
  ['half a surrogate pair within a list', { body: '{"a":[1,{"b":"\\ud83d"}]}' }, 400, `body.a[1].b ${surrogate}`],
  [
    'a description that is null',
    { body: '{"name":"x","description":null}' },
    400,
    'body.description must be a string, not null'
  ],
  [
    'a description of 2,001 characters',
    { body: json({ name: 'x', description: 'x'.repeat(2001) }) },
    400,
    'body.description must have at most 2000 characters'
  ],
  [
    'NUL in a description',
    { body: '{"name":"x","description":"\\u0000"}' },
    400,
    'body.description must not contain NUL (U+0000)'
  ],
  [
    'an id',
    { body: '{"name":"x","id":1}' },
    400,
    'body must not have the property "id"; it may have: name, description'
  ],
  [
    'a misspelt property',
    { body: '{"name":"x","descripton":"y"}' },
    400,
    'body must not have the property "descripton"; it may have: name, description'
  ],
  [
    '__proto__',
    { body: '{"name":"x","__proto__":{}}' },
    400,
    'body must not have the property "__proto__"; it may have: name, description'
  ],
  [
    'a name in __proto__',
    { body: '{"__proto__":{"name":"x"}}' },
    400,
    `${missingName}; body must not have the property "__proto__"; it may have: name, description`
  ]
]

t.test(
  'a request that breaks a rule is answered in the Error body, with a message that says what to change',
  async (t) => {
    const { port, key, app, auth } = await startService(t)
    for (const [title, request, status, message] of refused) {
      const { status: got, headers, body } = parseRaw(await sendRaw(port, bytesOf(key, request)))
      t.equal(got, status, title)
      if (request.method !== 'HEAD')
        t.same(JSON.parse(body), { code: codes[status], message, status }, `${title}: its body`)
      t.equal(headers['content-type'], 'application/json; charset=utf-8', `${title}: its type`)
      t.match(headers['x-request-id'], /^[\w-]{36}$/, `${title}: its id`)
    }
    t.equal((await app.inject({ url: '/v1/categories', headers: auth })).body, '[]', 'and nothing is stored')
  }
)

const accepted: [title: string, request: Request, status: number][] = [
  ['the target in absolute form', { ...read(), target: 'http://test/v1/categories' }, 200],
  ['an escaped letter in the path', { ...read(), target: '/v1/%63ategories' }, 200],
  ['unknown query parameters', { ...read(), target: '/v1/categories?a=1&b=%zz' }, 200],
  ['HTTP/1.0 without Host', { method: 'GET', headers: [], version: '1.0' }, 200],
  ['an empty Host', { method: 'GET', headers: ['Host:'] }, 200],
  ['1,500 headers', read(...Array.from({ length: 1500 }, (_, index) => `a${index}:`)), 200],
  ['an Upgrade that we do not know', read('Connection: upgrade, close', 'Upgrade: h2c'), 200],
  [
    'a parameter of the type',
    { headers: ['Host: test', 'Content-Type: application/json; v=1'], body: '{"name":"x"}' },
    201
  ],
  [
    'chunks',
    {
      headers: ['Host: test', 'Content-Type: application/json', 'Transfer-Encoding: Chunked'],
      body: 'c\r\n{"name":"x"}\r\n0\r\n\r\n'
    },
    201
  ],
  ['a name of 255 characters', { body: json({ name: '𐀀'.repeat(255) }) }, 201],
  ['a description of 2,000 characters', { body: json({ name: 'x', description: '𐀀'.repeat(2000) }) }, 201],
  ['a surrogate pair in escapes', { body: '{"name":"\\ud83d\\ude00"}' }, 201],
  ['a property given twice with one value', { body: '{"name":"x","name":"x"}' }, 201]
]

t.test('what HTTP and the document allow is accepted', async (t) => {
  const { port, key } = await startService(t)
  for (const [title, request, status] of accepted) {
    t.equal(parseRaw(await sendRaw(port, bytesOf(key, request))).status, status, title)
  }
})

t.test('a connection goes on after a body that was refused', async (t) => {
  const { port, key } = await startService(t)
  const headers = ['Host: test', 'Content-Type: application/json', 'Connection: keep-alive']
  const answer = await sendRaw(port, bytesOf(key, { headers, body: '{' }), bytesOf(key, read()))
  t.same(answer.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 400', 'HTTP/1.1 200'])
})

t.test('the scheme of the key may be in any case', async (t) => {
  const { app, key } = await startService(t)
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const { statusCode } = await app.inject({ url: '/v1/categories', headers: { authorization: `${scheme} ${key}` } })
    t.equal(statusCode, 200, scheme)
  }
})

t.test('a 401 has the challenge of RFC 6750, with an error only when a key was sent', async (t) => {
  const { app } = await startService(t)
  const challenge = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/v1/categories', headers })).headers['www-authenticate']
  t.equal(await challenge({}), 'Bearer realm="pet-categories"')
  t.equal(await challenge({ authorization: 'Basic YTpi' }), 'Bearer realm="pet-categories"')
  t.equal(
    await challenge({ authorization: 'bearer abc' }),
    'Bearer realm="pet-categories", error="invalid_token", error_description="The API key is not valid"'
  )
})

t.test('a 405 lists the methods that the path takes in Allow', async (t) => {
  const { app } = await startService(t)
  t.equal((await app.inject({ method: 'DELETE', url: '/v1/categories' })).headers.allow, 'GET, HEAD, POST')
  t.equal((await app.inject({ method: 'POST', url: '/livez' })).headers.allow, 'GET, HEAD')
})

t.test('HEAD answers as GET, without a body, and needs the key too', async (t) => {
  const { url, auth } = await startService(t)
  const get = await fetch(`${url}/v1/categories`, { headers: auth })
  const head = await fetch(`${url}/v1/categories`, { method: 'HEAD', headers: auth })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), String((await get.arrayBuffer()).byteLength))
  t.equal(head.headers.get('content-type'), get.headers.get('content-type'))
  t.equal((await fetch(`${url}/v1/categories`, { method: 'HEAD' })).status, 401)
})

t.test('a client that waits for 100 Continue is asked for its body only when it may send it', async (t) => {
  const { port, key } = await startService(t)
  const headers = ['Host: test', 'Content-Type: application/json', 'Expect: 100-continue', 'Content-Length: 12']
  const [head, ...rest] = (await sendRaw(port, bytesOf(key, { headers, body: '{"name":"x"}' }))).split('\r\n\r\n')
  t.equal(head, 'HTTP/1.1 100 Continue')
  t.equal(parseRaw(rest.join('\r\n\r\n')).status, 201)
  t.equal(parseRaw(await sendRaw(port, bytesOf(key, { headers, anonymous: true }))).status, 401)
  const old = await sendRaw(port, bytesOf(key, { headers, version: '1.0', body: '{"name":"x"}' }))
  t.equal(parseRaw(old).status, 201, 'HTTP/1.0 has no 100')
})

t.test('a well-formed X-Request-Id is taken over, another is replaced', async (t) => {
  const { app } = await startService(t)
  const idFor = async (url: string, id: string) =>
    (await app.inject({ url, headers: { 'x-request-id': id } })).headers['x-request-id']
  for (const url of ['/livez', '/v1/categories', '/none', '/%zz']) {
    t.equal(await idFor(url, 'my-id_1.~'), 'my-id_1.~', url)
    t.match(await idFor(url, 'not one'), /^[0-9a-f-]{36}$/, url)
    t.match(await idFor(url, 'x'.repeat(129)), /^[0-9a-f-]{36}$/, url)
  }
})

t.test('an answer reaches a client that is still sending a header section without end', async (t) => {
  const { port } = await startService(t)
  for (let time = 0; time < 20; time++) {
    const answer = await sendRaw(port, 'GET / HTTP/1.1\r\nHost: test\r\nX: ', Buffer.alloc(2_000_000, 'a'))
    t.equal(parseRaw(answer).status, 431)
  }
})

t.test('a request that does not arrive in time is answered 408', async (t) => {
  const { port, key } = await startService(t, { config: { REQUEST_TIMEOUT: 200 } })
  for (const request of [
    'GET / HTTP/1.1\r\n',
    bytesOf(key, { headers: ['Host: test', 'Content-Type: application/json', 'Content-Length: 9'] })
  ]) {
    const { status, body } = parseRaw(await sendRaw(port, request))
    t.equal(status, 408)
    t.same(JSON.parse(body), { code: 'request_timeout', message: 'The request did not arrive in time', status: 408 })
  }
})
