// What RFC 9110, 9112 and 8259 allow or forbid.
import t from 'tap'
import {
  chunked,
  chunksOf,
  createCategoryRequest,
  getRequest,
  lastChunk,
  listCategoriesRequest,
  request,
  send
} from './support/raw-http.ts'
import { startService } from './support/service.ts'

const service = await startService(t)

const cat = '{"name":"Cat"}'
const maxId = Number.MAX_SAFE_INTEGER

/** Requests that get an error, by its status and a part of its message. */
const rejected: [status: number, message: string, ...requests: string[]][] = [
  [404, 'nothing at this path', getRequest('/categories')],
  [405, 'This path supports GET, HEAD, POST, not ', request('PUT /v1/pets')],
  [400, 'The path must be percent-encoded UTF-8', getRequest('/%zz')],

  // Parameters and headers.
  [
    400,
    `path.petId must be an integer from 1 to ${maxId}`,
    getRequest(`/v1/pets/${2 ** 53}`)
  ],
  [
    400,
    'query.limit must be an integer from 1 to 100',
    getRequest('/v1/pets?limit=1e1')
  ],
  [400, 'must not have "unknown"', getRequest('/v1/pets?unknown=1')],
  [
    400,
    'header.if-match must not be sent',
    listCategoriesRequest({ 'If-Match': '"x"' })
  ],
  [
    400,
    'header.idempotency-key must match pattern "^[!-~]{1,255}$"',
    createCategoryRequest(cat, { 'Idempotency-Key': 'a b' }),
    createCategoryRequest(cat, { 'Idempotency-Key': ['a', 'a'] })
  ],
  [
    401,
    'The API key is not valid',
    listCategoriesRequest({
      Authorization: ['Bearer $API_KEY', 'Bearer $API_KEY']
    })
  ],

  // The body.
  [
    400,
    'must not have a body',
    request('GET /v1/categories', {}, cat),
    getRequest('/v1/pets/1', chunked) + chunksOf(cat)
  ],
  [
    400,
    'body must not be empty',
    createCategoryRequest(''),
    createCategoryRequest(lastChunk, chunked)
  ],
  [
    400,
    'Content-Type must be application/json',
    createCategoryRequest(cat, { 'Content-Type': undefined }),
    createCategoryRequest(cat, {
      'Content-Type': Array(2).fill('application/json')
    })
  ],
  [
    400,
    'without Content-Encoding',
    createCategoryRequest(cat, { 'Content-Encoding': 'gzip' })
  ],
  [413, 'larger than 65536 bytes', createCategoryRequest('x'.repeat(65_537))],
  [
    400,
    'The body must be JSON in UTF-8: ',
    createCategoryRequest('{"name":'),
    createCategoryRequest(Buffer.from('{"name":"\xff"}', 'latin1'))
  ],
  [
    400,
    'it is nested too deeply',
    createCategoryRequest('['.repeat(30_000) + ']'.repeat(30_000))
  ],
  [400, 'unpaired surrogate', createCategoryRequest('{"a":[{"b":"\\ud83d"}]}')],
  [
    400,
    'body.name must match pattern "^[^\\x00]*$"',
    createCategoryRequest('{"name":"\\u0000"}')
  ],
  [
    400,
    'it may have name, description; body.name must NOT have fewer than 1 char',
    createCategoryRequest('{"name":"","size":1}')
  ],
  [
    400,
    'body must not have "__proto__"; it may have name, ',
    createCategoryRequest('{"name":"x","__proto__":{}}')
  ],
  [
    400,
    `body.categoryId must be an integer from 1 to ${maxId}`,
    request('POST /v1/pets', {}, '{"name":"x","categoryId":0.5}')
  ]
]

/** The headers of every error. */
const errorHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': /^[\w-]{36}$/,
  'cache-control': 'no-store',
  'content-security-policy': /^default-src 'none'/,
  'x-content-type-options': 'nosniff',
  connection: 'close'
}

for (const [status, message, ...requests] of rejected) {
  t.test(`${status}: ${message}`, async (t) => {
    for (const text of requests) {
      const response = await send(service, text)
      t.match(response, { status, headers: errorHeaders }, text)
      t.match(JSON.parse(response.body), { message, status }, text)
    }
  })
}

/** Requests that HTTP, JSON and the OpenAPI document allow. */
const accepted: [status: number, request: string][] = [
  // An empty body, however framed, is no body.
  [200, listCategoriesRequest({ 'Content-Type': '?', 'Content-Length': '0' })],
  [200, listCategoriesRequest(chunked) + lastChunk],
  [201, createCategoryRequest('{"name":"\\ud83d\\ude00"}')],
  [201, createCategoryRequest(chunksOf(cat), chunked)]
]

t.test('what the standards allow is accepted', async (t) => {
  for (const [status, text] of accepted)
    t.equal((await send(service, text)).status, status, text)
})

t.test('a well-formed X-Request-Id is kept, another is replaced', async (t) => {
  for (const [path, id, sent] of [
    ['/livez', 'my-id_1.~', 'my-id_1.~'],
    ['/%zz', 'my-id_1.~', 'my-id_1.~'],
    ['/livez', 'not one', /^[0-9a-f-]{36}$/],
    ['/livez', 'x'.repeat(129), /^[0-9a-f-]{36}$/]
  ] as const) {
    const text = getRequest(path, { 'X-Request-Id': id })
    const { headers } = await send(service, text)
    t.match(headers, { 'x-request-id': sent }, path)
  }
})
