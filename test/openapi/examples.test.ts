import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { HTTPMethods, InjectOptions } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import { toHttpError } from '../../src/http/errors.ts'
import { readContract } from '../../src/openapi/document.ts'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/errors.ts'
import { createRoles } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'

const { document, basePath } = readContract()

/** The object that a local `$ref` points to, or the object itself. */
function resolve<T extends object>(object: T | OpenAPIV3.ReferenceObject): T {
  if (!('$ref' in object)) return object
  const target = object.$ref.split('/').slice(1)
  return target.reduce<unknown>((node, part) => (node as Record<string, unknown>)[part], document) as T
}

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  (Object.entries(item ?? {}) as [HTTPMethods, OpenAPIV3.OperationObject][]).map(([method, operation]) => {
    const parameters = (operation.parameters ?? []).map((parameter) => resolve(parameter))
    // The examples of its path parameters stand in the path.
    const url = path.replace(/\{(\w+)\}/g, (_, name) => String(parameters.find((one) => one.name === name)?.example))
    const responses = Object.entries(operation.responses).map(
      ([status, response]) => [status, resolve(response)] as const
    )
    const requestBody = operation.requestBody && resolve(operation.requestBody)
    const id = operation.operationId
    return { id, method, url: basePath + url, hasPathParameter: url !== path, requestBody, responses }
  })
)
type Operation = (typeof operations)[number]

function examplesIn({ content }: { content?: OpenAPIV3.RequestBodyObject['content'] } = {}) {
  const examples = Object.entries(content?.['application/json']?.examples ?? {})
  return examples.map(([name, example]) => ({ name, value: resolve(example).value as object }))
}

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }))

/** Sends a request and checks that the document allows its response. */
async function conforms(t: Test, { app }: Service, { id, method, url, responses }: Operation, request: InjectOptions) {
  const response = await app.inject({ method, url, ...request })
  const documented = responses.find(([status]) => status === String(response.statusCode))
  const schema = documented?.[1].content?.['application/json']?.schema
  const isValid = schema && ajv.validate({ ...schema, components: document.components }, response.json())
  t.ok(isValid, `${id} ${response.statusCode} ${ajv.errorsText()}`)
  return response.statusCode
}

t.test('every example of a request succeeds, with a documented response', async (t) => {
  // With the least privileges, which must be enough for every operation.
  const service = await startService(t, { databaseUrl: (await createRoles(t)).service })
  for (const operation of operations) {
    for (const { name, value } of examplesIn(operation.requestBody)) {
      const status = await conforms(t, service, operation, { headers: service.auth, payload: value })
      // The database is empty: what the example of a path parameter names may not exist.
      t.match(String(status), operation.hasPathParameter ? /^(2|404)/ : /^2/, `${operation.id} ${name}`)
    }
  }
})

t.test('a valid, an invalid and an unauthenticated request get documented responses', async (t) => {
  const service = await startService(t)
  for (const operation of operations) {
    const invalid = operation.requestBody ? { payload: { wrong: true } } : {}
    await conforms(t, service, operation, { headers: service.auth, ...invalid })
    await conforms(t, service, operation, invalid)
  }
})

t.test('the service sends every example of an error', async (t) => {
  const sent: { status: number; body: unknown }[] = []
  async function post({ app, auth }: Service, payload: string | object, headers = {}) {
    const url = `${basePath}/categories`
    const response = await app.inject({ method: 'POST', url, headers: { ...auth, ...headers }, payload })
    sent.push({ status: response.statusCode, body: response.json() })
  }
  const service = await startService(t)
  await post(service, {})
  await post(service, { name: 'x', descripton: 'y' })
  await post(service, 'x', { 'content-type': 'text/plain' })
  await post(service, {}, { authorization: 'Bearer x' })
  await post(service, {}, { authorization: '' })
  await post(service, { name: 'x'.repeat(65536) })
  for (const { method, url, requestBody } of operations.filter(({ hasPathParameter }) => hasPathParameter)) {
    const payload = examplesIn(requestBody)[0]?.value
    const response = await service.app.inject({ method, url, headers: service.auth, ...(payload && { payload }) })
    sent.push({ status: response.statusCode, body: response.json() })
  }
  const limited = await startService(t, { config: { RATE_LIMIT_MAX: 1, AUTH_FAILURES_MAX: 1 } })
  for (let request = 0; request < 2; request++) {
    await post(limited, { name: 'x' })
    await post(limited, {}, { authorization: '' })
  }
  // Other tests provoke them on a connection.
  for (const error of [new Error(), new Unavailable(undefined), new OutcomeUnknown(undefined)]) {
    const { status, body } = toHttpError(error)
    sent.push({ status, body })
  }
  for (const { id, responses } of operations) {
    for (const [status, response] of responses.filter(([status]) => status >= '400')) {
      for (const { name, value } of examplesIn(response)) {
        const expected = { status: Number(status), body: value }
        t.ok(
          sent.some((one) => isDeepStrictEqual(one, expected)),
          `${id} ${status} ${name}`
        )
      }
    }
  }
})
