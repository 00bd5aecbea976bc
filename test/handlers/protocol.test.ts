// Requests as RFC 9110 allows or forbids them. Each response must have a
// status, headers and a body that openapi.yaml documents.
import type { HTTPMethods } from 'fastify'
import t from 'tap'
import { basePath, checkDocumented } from '../support/examples.ts'
import { startService } from '../support/service.ts'

const service = await startService(t)

const list = 'GET /categories'
const create = 'POST /categories'
const cancel = 'DELETE /store/orders/404'
const cat = { name: 'Cat' }
const past = 'Fri, 01 Jan 1971 00:00:00 GMT'

const requests: [
  status: number,
  operation: string,
  request: string,
  headers: Record<string, string>,
  body?: object
][] = [
  [200, 'listPets', 'GET /pets', { accept: 'text/html' }],
  [304, 'listCategories', list, { 'if-none-match': '*' }],
  [400, 'listCategories', list, { 'if-match': '"x"' }],
  [404, 'cancelOrder', cancel, { 'if-unmodified-since': past }],
  [400, 'createCategory', create, { 'if-none-match': '*' }, cat],
  [400, 'createCategory', create, { 'content-encoding': 'gzip' }, cat],
  [400, 'cancelOrder', cancel, { 'idempotency-key': 'a' }]
]

for (const [status, operation, request, headers, payload] of requests) {
  t.test(`${request} ${JSON.stringify(headers)}: ${status}`, async (t) => {
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
