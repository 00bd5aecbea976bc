// Requests as RFC 9110 and 6750 allow or forbid them. Each response must have a
// status, headers and a body that openapi.yaml documents.
import type { HTTPMethods } from 'fastify'
import t from 'tap'
import { query } from '../support/database.ts'
import { basePath, checkDocumented } from '../support/examples.ts'
import { startService } from '../support/service.ts'

const service = await startService(t)
await query(
  service.databaseUrl,
  `
    INSERT INTO categories (name) VALUES ('Dog');

    INSERT INTO pets (name, category_id, status)
    VALUES ('Bella', 1, 'available')
  `
)

const list = 'GET /categories'
const create = 'POST /categories'
const cancel = 'DELETE /store/orders/404'
const cat = { name: 'Cat' }

const past = 'Fri, 01 Jan 1971 00:00:00 GMT'

type Headers = Record<string, string>

const requests: [
  status: number,
  operation: string,
  request: string,
  headers?: Headers,
  body?: object
][] = [
  // Content negotiation, ranges and preconditions.
  [200, 'listPets', 'GET /pets', { accept: 'text/html' }],
  [200, 'listCategories', list, { range: 'bytes=0-1' }],
  [304, 'listCategories', list, { 'if-none-match': '*' }],

  [400, 'listCategories', list, { 'if-match': '"x"' }],
  [404, 'cancelOrder', cancel, { 'if-unmodified-since': past }],
  [400, 'createCategory', create, { 'if-none-match': '*' }, cat],
  [400, 'createCategory', create, { 'content-encoding': 'gzip' }, cat],
  [400, 'cancelOrder', cancel, { 'idempotency-key': 'a' }],

  // Methods and their bodies.
  [200, 'getPet', 'HEAD /pets/1'],
  [404, 'getPet', 'HEAD /pets/404'],

  // Credentials.
  [400, 'listPets', 'GET /pets?access_token=x'],
  [401, 'getPet', 'GET /pets/1', { authorization: 'Bearer x' }]
]

for (const [status, operation, request, headers = {}, payload] of requests) {
  const title = `${request} ${JSON.stringify(headers)}`

  t.test(`${operation} ${status}: ${title}`, async (t) => {
    const [method, path] = request.split(' ')
    const response = await service.app.inject({
      method: method as HTTPMethods,
      url: `${basePath}${path}`,
      headers: { ...service.auth, ...headers },
      ...(payload && { payload })
    })
    t.equal(response.statusCode, status, response.body)
    checkDocumented(t, operation, response)
  })
}
