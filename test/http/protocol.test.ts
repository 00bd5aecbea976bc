import t from 'tap'
import { parseRaw, sendRaw, startService } from '../support/service.ts'
import { bytesOf, create, list, request } from './raw.ts'

const anonymous = { Authorization: undefined }
const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }
const ofType = (type?: string) => create('{}', { 'Content-Type': type })
const named = (name: unknown, more: object = {}) => create(JSON.stringify({ name, ...more }))
const nested = (open: string, levels: number, close: string) => create(open.repeat(levels) + close.repeat(levels))
const inName = (...bytes: number[]) => create(Buffer.from(`{"name":"${String.fromCharCode(...bytes)}"}`, 'latin1'))

const codes: Record<number, string> = {
  400: 'invalid_request',
  401: 'unauthorized',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  417: 'expectation_failed',
  431: 'headers_too_large'
}

const { app, port, key, auth } = await startService(t)
const send = async (request: string) => parseRaw(await sendRaw(port, bytesOf(request, key)))

const rejects = (status: number, message: string, requests: Record<string, string>) =>
  t.test(`${status}: ${message}`, async (t) => {
    const check = async ([title, request]: [string, string]) => {
      const response = await send(request)
      t.equal(response.status, status, title)
      t.same(JSON.parse(response.body), { code: codes[status], message, status }, `${title}: its body`)
      t.equal(response.headers['content-type'], 'application/json; charset=utf-8', `${title}: its type`)
      t.match(response.headers['x-request-id'], /^[\w-]{36}$/, `${title}: its id`)
    }
    await Promise.all(Object.entries(requests).map(check))
  })

rejects(404, 'There is nothing at this path', {
  'a trailing slash': request('GET /v1/categories/'),
  'another case': request('GET /v1/Categories'),
  'doubled slashes': request('GET //v1/categories'),
  'an encoded slash': request('GET /v1%2Fcategories'),
  'an unknown path without a key': request('GET /v1/dogs', anonymous),
  'an unknown path with a broken body': request('POST /v1/dogs', {}, '{'),
  'an unknown method on an unknown path': request('PURGE /v1/dogs'),
  'a file that the docs lack': request('GET /docs/static/none.js'),
  'a path out of the docs': request('GET /docs/static/..%2f..%2fpackage.json')
})
rejects(400, 'The path must be percent-encoded UTF-8', {
  'a percent sign alone': request('GET /%zz'),
  'bytes that are not UTF-8': request('GET /v1/categories%ff')
})
rejects(405, 'This path supports GET, HEAD, POST, not PUT', {
  PUT: request('PUT /v1/categories', anonymous, '{')
})
rejects(405, 'This path supports GET, HEAD, POST, not OPTIONS', {
  OPTIONS: request('OPTIONS /v1/categories')
})
rejects(405, 'This path supports GET, HEAD, POST, not TRACE', {
  TRACE: request('TRACE /v1/categories')
})
rejects(405, 'This path supports GET, HEAD, not POST', {
  'POST to the docs': request('POST /docs', {}, '{')
})

rejects(400, 'The request is not valid HTTP/1.1', {
  'a method in lower case': request('get /v1/categories'),
  'an unknown method': request('FOO /v1/categories'),
  'HTTP/1.2': request('GET /v1/categories HTTP/1.2'),
  'a space in a header name': list({ 'Bad Header': 'x' }),
  'a folded header': list({ 'X-Folded': 'a\r\n b' }),
  'NUL in a header': list({ 'X-Nul': 'a\0b' }),
  'two Content-Lengths': create('{}', { 'Content-Length': ['1', '2'] }),
  'a negative Content-Length': create('', { 'Content-Length': '-1' }),
  'Content-Length and chunks': create('0\r\n\r\n', { 'Transfer-Encoding': 'chunked' }),
  'a broken chunk': create('zz\r\n', chunked)
})
rejects(400, 'CONNECT is for proxies', { CONNECT: request('CONNECT test:1') })
rejects(400, 'The request must have one valid Host header', {
  'no Host': list({ Host: undefined }),
  'two Hosts': list({ Host: ['test', 'other'] }),
  'a Host that is none': list({ Host: 'a b' })
})
rejects(431, 'The header section of the request is too large', {
  'an oversized header': list({ 'X-Large': 'a'.repeat(20_000) }),
  'an oversized target': request(`GET /v1/categories?${'a'.repeat(20_000)}`)
})
rejects(400, 'The request must be HTTP/1.1', { 'HTTP/2.0': request('GET /v1/categories HTTP/2.0') })
rejects(417, 'Expect must be 100-continue or be left out', { 'another expectation': list({ Expect: 'cake' }) })
rejects(413, 'The chunk extensions of the body are too large', {
  'a chunk extension without end': create(`2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`, chunked)
})

rejects(401, 'An API key is required: send the header "Authorization: Bearer <API_KEY>"', {
  'no key': list(anonymous),
  'no key and a broken body': create('{', anonymous),
  'no key and an oversized body': create('', { ...anonymous, 'Content-Length': '99999999' }),
  'another scheme': list({ Authorization: 'Basic YTpi' }),
  'a scheme without a key': list({ Authorization: 'Bearer' })
})
rejects(401, 'The API key is not valid', {
  'a key that is none': list({ Authorization: 'Bearer abc' }),
  'a key with a wrong checksum': list({ Authorization: `Bearer petcat_${'0'.repeat(48)}` }),
  'two keys': list({ Authorization: ['Bearer $KEY', 'Bearer $KEY'] })
})

rejects(413, 'The body is larger than this deployment accepts', {
  'an oversized body': create('', { 'Content-Length': '1048577' }),
  'an oversized body of another type': create('', { 'Content-Type': 'text/plain', 'Content-Length': '1048577' }),
  'an oversized body that may wait': create('', { Expect: '100-continue', 'Content-Length': '1048577' }),
  'an oversized body in chunks': create(`100001\r\n${'a'.repeat(0x100001)}\r\n0\r\n\r\n`, chunked)
})
rejects(400, 'Content-Type must be application/json, not left out', { 'no Content-Type': ofType() })
rejects(400, 'Content-Type must be application/json', {
  'an empty type': ofType(''),
  'a type that is none': ofType('?'),
  'two types': ofType('application/json, text/plain')
})
rejects(400, 'Content-Type must be application/json, not text/plain', { 'text/plain': ofType('text/plain') })
rejects(400, 'Content-Type must be application/json, not application/jsonx', {
  'a longer type': ofType('application/jsonx')
})
rejects(400, 'The charset of Content-Type must be utf-8', {
  'another charset': ofType('application/json; charset=iso-8859-1'),
  'another charset in quotes': ofType('application/json;Charset="utf-16"')
})
rejects(400, 'Content-Encoding must be left out', { gzip: create('{}', { 'Content-Encoding': 'gzip' }) })

rejects(400, 'body must be an object, not null or left out', {
  'no body': create(),
  'no body of the type': create(undefined, { 'Content-Type': 'application/json' }),
  'an empty body': create(''),
  null: create('null')
})
rejects(400, 'body must be an object, not an array', {
  'an array': create('[]'),
  '64 levels of arrays': nested('[', 64, ']')
})
rejects(400, "The body must be JSON: Object value expected after ':' at position 8", {
  'half an object': create('{"name":')
})
rejects(400, "The body must be JSON: Expected end of input but got '{' at position 12", {
  'two objects': create('{"name":"a"}{}')
})
rejects(400, "The body must be JSON: JSON value expected but got '\ufeff' at position 0", {
  'a byte order mark': create('\ufeff{"name":"a"}')
})
rejects(400, "The body must be JSON: Duplicate key 'name' encountered at position 13", {
  'a property given twice': create('{"name":"a","n\\u0061me":"b"}')
})
rejects(400, 'The body must not be nested deeper than 64 levels', {
  'nesting that exhausts the stack of the parser': create('['.repeat(60_000)),
  '4,200 levels, as deep as the parser goes': nested('[', 4200, ']'),
  '65 arrays': nested('[', 65, ']'),
  '65 objects': create(`${'{"a":'.repeat(64)}{}${'}'.repeat(64)}`)
})
rejects(400, 'The body must be UTF-8', {
  'a single byte': inName(0xff),
  'a surrogate': inName(0xed, 0xa0, 0x80),
  'an overlong NUL': inName(0xc0, 0x80)
})
rejects(400, 'body.name must not have unpaired surrogates', { 'half an emoji': create('{"name":"\\ud83d"}') })
rejects(400, 'body.a[1].b must not have unpaired surrogates', {
  'half an emoji within': create('{"a":[1,{"b":"\\ud83d"}]}')
})
rejects(400, 'body: the name of a property must not have unpaired surrogates', {
  'half an emoji in a name': create('{"name":"x","\\udc00":1}')
})

rejects(400, 'Transfer-Encoding must be chunked or be left out', {
  'another transfer coding': create('2\r\n{}\r\n0\r\n\r\n', {
    'Content-Length': undefined,
    'Transfer-Encoding': 'gzip, chunked'
  })
})
rejects(400, 'body must have the property "name"', {
  'no name': create('{}'),
  // However the type is written, the body is validated.
  'a space before the type': ofType(' application/json'),
  'a tab after the type': ofType('application/json\t'),
  'a tab before a parameter': ofType('application/json\t; charset=utf-8'),
  'the type in capitals': ofType('APPLICATION/JSON'),
  'the type and the charset': ofType('application/json;charset="UTF-8"')
})
for (const name of ['Name', '__proto__']) {
  const message = `body must have the property "name"; body must not have the property "${name}"; it may have: name, description`
  rejects(400, message, { 'two faults': create(`{"${name}":{}}`) })
}
rejects(400, 'body.name must be a string, not null', { 'a name that is null': named(null) })
rejects(400, 'body.name must be a string, not a number', {
  'a number': named(1),
  'a large number': create('{"name":12345678901234567890}')
})
rejects(400, 'body.name must be a string, not an array', { 'a list': named(['x']) })
rejects(400, 'body.name must have at least 1 character', { 'an empty name': named('') })
rejects(400, 'body.name must have at most 255 characters', {
  '256 characters': named('𐀀'.repeat(256)),
  'as many as a body may have': named('x'.repeat(65_525))
})
rejects(400, 'body.name must not contain NUL (U+0000)', { 'NUL in a name': named('a\0') })
rejects(400, 'body.description must be a string, not null', { 'description: null': named('x', { description: null }) })
rejects(400, 'body.description must have at most 2000 characters', {
  '2,001 characters': named('x', { description: 'x'.repeat(2001) })
})
rejects(400, 'body must not have the property "id"; it may have: name, description', { 'an id': named('x', { id: 1 }) })
rejects(400, 'body must not have the property "__proto__"; it may have: name, description', {
  'the property __proto__': create('{"name":"x","__proto__":{}}')
})

t.test('an invalid request gets its error after the response to the request before it, under its own id', async (t) => {
  const [first, second] = (
    await sendRaw(port, bytesOf(list({ Connection: undefined }) + list({ Host: 'a b', 'X-Request-Id': 'mine' }), key))
  )
    .split(/(?<=\])(?=HTTP)/)
    .map(parseRaw)
  t.match(first, { status: 200 })
  t.match(second, { status: 400, headers: { 'x-request-id': 'mine', connection: 'close' } })
  const head = await send(request('HEAD /livez HTTP/1.1', { Host: 'a b' }))
  t.match(head, { status: 400, body: '' })
})

t.test('rejected requests store nothing', async (t) => {
  t.equal((await send(list())).body, '[]')
})

const accepts = (status: number, requests: Record<string, string>) =>
  t.test(`${status} for what HTTP and the OpenAPI document allow`, async (t) => {
    for (const [title, request] of Object.entries(requests)) t.equal((await send(request)).status, status, title)
  })

accepts(200, {
  'the target in absolute form': request('GET http://test/v1/categories'),
  'an escaped letter in the path': request('GET /v1/%63ategories'),
  'unknown query parameters': request('GET /v1/categories?a=1&b=%zz'),
  'HTTP/1.0 without Host': request('GET /v1/categories HTTP/1.0', { Host: undefined }),
  'an empty Host': list({ Host: '' }),
  '1,500 headers': list(Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`a${index}`, '']))),
  'an unknown protocol to upgrade to': list({ Connection: 'upgrade, close', Upgrade: 'h2c' }),
  'the scheme of the key in lower case': list({ Authorization: 'bearer $KEY' }),
  'the scheme of the key in capitals': list({ Authorization: 'BEARER $KEY' })
})
accepts(201, {
  'a parameter of the type': create('{"name":"x"}', { 'Content-Type': 'application/json; v=1' }),
  chunks: create('c\r\n{"name":"x"}\r\n0\r\n\r\n', { ...chunked, 'Transfer-Encoding': 'Chunked' }),
  'a name of 255 characters': named('𐀀'.repeat(255)),
  'a description of 2,000 characters': named('x', { description: '𐀀'.repeat(2000) }),
  'a surrogate pair in escapes': create('{"name":"\\ud83d\\ude00"}'),
  'a property given twice with one value': create('{"name":"x","name":"x"}')
})

t.test('a connection stays open after a rejected body', async (t) => {
  const received = await sendRaw(port, bytesOf(create('{', { Connection: 'keep-alive' }) + list(), key))
  t.same(received.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 400', 'HTTP/1.1 200'])
})

t.test('a 401 has the challenge of RFC 6750, with an error only if a key was sent', async (t) => {
  const challenge = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/v1/categories', headers })).headers['www-authenticate']
  t.equal(await challenge({}), 'Bearer realm="pet-categories"')
  t.equal(await challenge({ authorization: 'Basic YTpi' }), 'Bearer realm="pet-categories"')
  t.equal(
    await challenge({ authorization: 'bearer abc' }),
    'Bearer realm="pet-categories", error="invalid_token", error_description="The API key is not valid"'
  )
})

t.test('a 405 lists the methods of the path in Allow', async (t) => {
  t.equal((await app.inject({ method: 'DELETE', url: '/v1/categories' })).headers.allow, 'GET, HEAD, POST')
  t.equal((await app.inject({ method: 'POST', url: '/livez' })).headers.allow, 'GET, HEAD')
})

t.test('HEAD responds as GET, without a body, and needs the key too', async (t) => {
  const get = await app.inject({ url: '/v1/categories', headers: auth })
  const head = await send(request('HEAD /v1/categories'))
  t.match(head, { status: 200, body: '', headers: { 'content-length': String(get.rawPayload.length) } })
  t.equal(head.headers['content-type'], get.headers['content-type'])
  t.equal((await send(request('HEAD /v1/categories', anonymous))).status, 401)
})

t.test('100 Continue is sent only to clients that may send their body', async (t) => {
  const statuses = async (request: string) => (await sendRaw(port, bytesOf(request, key))).match(/HTTP\/1\.1 \d+/g)
  const expect = { Expect: '100-continue' }
  t.same(await statuses(create('{"name":"x"}', expect)), ['HTTP/1.1 100', 'HTTP/1.1 201'])
  t.same(await statuses(create('{"name":"x"}', { ...expect, ...anonymous })), ['HTTP/1.1 401'])
  const old = request('POST /v1/categories HTTP/1.0', expect, '{"name":"x"}')
  t.same(await statuses(old), ['HTTP/1.1 201'], 'HTTP/1.0 has no 100')
})

t.test('a well-formed X-Request-Id is kept, another is replaced', async (t) => {
  const idFor = async (url: string, id: string) =>
    (await app.inject({ url, headers: { 'x-request-id': id } })).headers['x-request-id']
  for (const url of ['/livez', '/v1/categories', '/none', '/%zz']) {
    t.equal(await idFor(url, 'my-id_1.~'), 'my-id_1.~', url)
    t.match(await idFor(url, 'not one'), /^[0-9a-f-]{36}$/, url)
    t.match(await idFor(url, 'x'.repeat(129)), /^[0-9a-f-]{36}$/, url)
  }
})

t.test('the 431 reaches a client that is still sending its headers', async (t) => {
  const flood = Buffer.alloc(2_000_000, 'a')
  const send = () => sendRaw(port, 'GET / HTTP/1.1\r\nHost: test\r\nX: ', flood)
  for (const received of await Promise.all(Array.from({ length: 20 }, send))) t.equal(parseRaw(received).status, 431)
})
