// Raw requests, as RFC 9110 and 6750 allow or forbid them. Each response must
// have a status, headers and a body that openapi.yaml documents.
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import t, { type Test } from 'tap'
import { request, send } from '../framework/http/raw-requests.ts'
import { query } from '../support/database.ts'
import {
  document,
  generalHeaders,
  operations,
  resolve
} from '../support/examples.ts'
import { startService } from '../support/service.ts'

type Response = Awaited<ReturnType<typeof send>>
type Headers = Parameters<typeof request>[1]

const ajv = addFormats.default(new Ajv({ strict: false }))
const service = await startService(t)
await query(
  service.databaseUrl,
  `
    INSERT INTO categories (name) VALUES ('Dog');

    INSERT INTO pets (name, category_id, status)
    VALUES ('Bella', 1, 'available')
  `
)

const getRequest = (path: string, headers?: Headers) =>
  request(`GET /v1${path}`, headers)

const createRequest = (headers: Headers) =>
  request('POST /v1/categories', headers, '{"name":"Cat"}')

const cancel = (headers?: Headers, body?: string) =>
  request('DELETE /v1/store/orders/404', headers, body)

const past = 'Fri, 01 Jan 1971 00:00:00 GMT'
const future = 'Fri, 01 Jan 2100 00:00:00 GMT'

const requests: [status: number, operation: string, request: string][] = [
  // Content negotiation, ranges and preconditions.
  [200, 'listPets', getRequest('/pets', { Accept: 'text/html' })],
  [200, 'listCategories', getRequest('/categories', { Range: 'bytes=0-1' })],
  [304, 'listCategories', getRequest('/categories', { 'If-None-Match': '*' })],
  [200, 'listCategories', getRequest('/categories', { 'If-None-Match': 'x' })],
  [
    200,
    'listCategories',
    getRequest('/categories', { 'If-Modified-Since': future })
  ],
  [400, 'listCategories', getRequest('/categories', { 'If-Match': '"x"' })],
  [400, 'listCategories', request('HEAD /v1/categories', { 'If-Match': '*' })],
  [404, 'cancelOrder', cancel({ 'If-Unmodified-Since': past })],
  [400, 'cancelOrder', cancel({ 'If-None-Match': '*' })],
  [400, 'createCategory', createRequest({ 'If-None-Match': '*' })],
  [400, 'cancelOrder', cancel({ 'Idempotency-Key': 'a' })],
  [400, 'listPets', getRequest('/pets', { 'Idempotency-Key': 'a' })],

  // Methods and their bodies.
  [200, 'getPet', request('HEAD /v1/pets/1')],
  [404, 'getPet', request('HEAD /v1/pets/404')],
  [400, 'cancelOrder', cancel({}, '{}')],
  [201, 'createCategory', createRequest({ 'X-HTTP-Method-Override': 'PUT' })],

  // Credentials.
  [400, 'listPets', getRequest('/pets?access_token=x')],
  [401, 'getPet', getRequest('/pets/1', { Authorization: 'Bearer x' })],
  [401, 'listPets', getRequest('/pets', { Authorization: undefined })]
]

/** The documented response of an operation. */
const documentedAs = (operation: string, status: number) =>
  operations
    .find(({ id }) => id === operation)
    ?.responses.find((one) => one.status === status)

/** Checks a response against the OpenAPI document. */
function checkResponse(t: Test, operation: string, response: Response): void {
  const { status, headers, body } = response
  const documented = documentedAs(operation, status)
  const documentedHeaders = [...generalHeaders, ...(documented?.headers ?? [])]
  const unknown = Object.keys(headers).filter(
    (name) => !documentedHeaders.includes(name)
  )
  t.same(unknown, [], 'its headers are documented')

  if (body === '') return
  const schema = resolve(documented?.schema ?? {})
  const { components } = document
  const isValid = ajv.validate({ ...schema, components }, JSON.parse(body))
  t.ok(isValid, ajv.errorsText())
}

for (const [status, operation, text] of requests) {
  const title = JSON.stringify(text.slice(0, 200))

  t.test(`${operation} ${status}: ${title}`, async (t) => {
    const response = await send(service, text)
    t.equal(response.status, status, response.body.slice(0, 200))
    checkResponse(t, operation, response)
  })
}
