import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { HTTPMethods, InjectOptions } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import { toHttpError } from '../../src/http/errors.ts'
import { readContract } from '../../src/openapi/document.ts'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/errors.ts'
import { createRoles, holdKeys } from '../support/database.ts'
import { run, script } from '../support/process.ts'
import { type Service, startService } from '../support/service.ts'

const { document, basePath } = readContract()

/** The object that a local `$ref` points to, or the object itself. */
function resolve<T extends object>(object: T | OpenAPIV3.ReferenceObject): T {
  if (!('$ref' in object)) return object
  const target = object.$ref.split('/').slice(1)
  return target.reduce<unknown>((node, part) => (node as Record<string, unknown>)[part], document) as T
}

type Examples = OpenAPIV3.MediaTypeObject['examples']

const examplesOf = (examples: Examples = {}) =>
  Object.entries(examples).map(([name, example]) => ({ name, value: resolve(example).value as unknown }))
const examplesIn = ({ content }: Partial<OpenAPIV3.RequestBodyObject> = {}) =>
  examplesOf(content?.['application/json']?.examples)

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  (Object.entries(item ?? {}) as [HTTPMethods, OpenAPIV3.OperationObject][]).map(([method, operation]) => {
    const parameters = (operation.parameters ?? []).map((parameter) => resolve(parameter))
    const parameter = parameters.find((one) => one.in === 'path')
    const places = parameter ? examplesOf(parameter.examples) : [{ name: undefined, value: undefined }]
    const bodies = operation.requestBody ? examplesIn(resolve(operation.requestBody)) : [undefined]
    return {
      id: operation.operationId,
      /** Each example of the path with each of the body, by the name of the former. */
      requests: places.flatMap(({ name, value }) =>
        bodies.map((body) => {
          const url = basePath + path.replace(/\{\w+\}/, String(value))
          return { name, request: { method, url, ...(body && { payload: body.value as object }) } }
        })
      ),
      responses: Object.entries(operation.responses).map(([status, response]) => {
        const { content } = resolve(response)
        const schema = content?.['application/json']?.schema
        return { status: Number(status), schema, examples: examplesIn({ ...(content && { content }) }) }
      })
    }
  })
)
type Operation = (typeof operations)[number]

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }))

/** Sends the first example of a request, changed, and checks that the document allows its response. */
async function conforms(t: Test, { app }: Service, { id, requests, responses }: Operation, change: InjectOptions) {
  const response = await app.inject({ ...requests[0]?.request, ...change })
  const documented = responses.find(({ status }) => status === response.statusCode)
  const body = response.body && response.json<unknown>()
  const { schema = { enum: [''] } } = documented ?? {}
  const isValid = documented && ajv.validate({ ...schema, components: document.components }, body)
  t.ok(isValid, `${id} ${response.statusCode} ${ajv.errorsText()}`)
  return { status: response.statusCode, body }
}

/** A service on the data of `npm run seed`, with the least privileges, which must be enough for every operation. */
async function startSeeded(t: Test) {
  const { owner, service } = await createRoles(t)
  for (const [url, code, output] of [
    [service, 1, 'pet-categories: the database is unavailable: permission denied for table orders\n'],
    [owner, 0, 'Added 3 categories, 3 pets and 2 orders.\n'],
    [owner, 0, 'Nothing was added: the database has pets.\n']
  ] as const) {
    const seed = run(t, script('tools/seed.ts'), { env: { DATABASE_URL: url } })
    t.equal(await seed.exited, code)
    t.equal(seed.output(), output)
  }
  return startService(t, { databaseUrl: service })
}

t.test('an example of a path gets the example response of its name, and any other request succeeds', async (t) => {
  const service = await startSeeded(t)
  for (const operation of operations) {
    for (const { name, request } of operation.requests) {
      const sent = await conforms(t, service, operation, { ...request, headers: service.auth })
      const [expected] = operation.responses.flatMap(({ status, examples }) =>
        examples.filter((one) => one.name === name).map(({ value }) => ({ status, body: value }))
      )
      if (expected) t.same(sent, expected, `${operation.id} ${name}`)
      else t.match(String(sent.status), /^2/, `${operation.id} ${name}`)
    }
  }
})

t.test('the service sends every example of an error', async (t) => {
  const sent: { status: number; body: unknown }[] = []
  async function send({ app, auth }: Service, { headers, ...request }: InjectOptions) {
    const response = await app.inject({ ...request, headers: { ...auth, ...headers } })
    sent.push({ status: response.statusCode, body: response.body && response.json<unknown>() })
  }
  const post = (service: Service, payload: string | object, headers = {}) =>
    send(service, { method: 'POST', url: `${basePath}/categories`, headers, payload })
  const service = await startSeeded(t)
  await post(service, {})
  await post(service, { name: 'x', descripton: 'y' })
  await post(service, 'x', { 'content-type': 'text/plain' })
  await post(service, {}, { authorization: 'Bearer x' })
  await post(service, {}, { authorization: '' })
  await post(service, { name: 'x'.repeat(65536) })
  await send(service, { method: 'POST', url: `${basePath}/pets`, payload: { name: 'x', categoryId: 404 } })
  for (const url of ['pets?status=lost', 'pets?cursor=x', 'pets/x']) await send(service, { url: `${basePath}/${url}` })
  await send(service, { method: 'DELETE', url: `${basePath}/store/orders/x` })
  for (const { request } of operations.flatMap(({ requests }) => requests)) await send(service, request)
  const limited = await startService(t, { config: { RATE_LIMIT_MAX: 1, AUTH_FAILURES_MAX: 1 } })
  for (let request = 0; request < 2; request++) {
    await post(limited, { name: 'x' })
    await post(limited, {}, { authorization: '' })
  }
  await post(service, { name: 'x' }, { 'idempotency-key': 'a b' })
  const busy = await startService(t, { config: { DATABASE_TIMEOUT: 1000 } })
  for (const name of ['x', 'y']) await post(busy, { name }, { 'idempotency-key': 'key' })
  await holdKeys(t, busy.databaseUrl)
  await post(busy, { name: 'x' }, { 'idempotency-key': 'key' })
  const unknown = (code?: OutcomeUnknown['code']) => new OutcomeUnknown(undefined, code)
  // Other tests provoke them on a connection.
  for (const error of [new Error(), new Unavailable(new Error()), unknown(), unknown('outcome_unknown_with_key')]) {
    const { status, body } = toHttpError(error)
    sent.push({ status, body })
  }
  for (const { id, responses } of operations) {
    for (const { status, examples } of responses.filter(({ status }) => status >= 400)) {
      for (const { name, value } of examples) {
        const isSent = sent.some((one) => isDeepStrictEqual(one, { status, body: value }))
        t.ok(isSent, `${id} ${status} ${name}`)
      }
    }
  }
})
