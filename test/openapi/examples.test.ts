import { isDeepStrictEqual } from 'node:util'
import SchemaValidator from 'openapi-response-validator'
import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import { readContract } from '../../src/openapi/document.ts'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/errors.ts'
import { resolve } from '../../src/openapi/document.ts'
import { toHttpError } from '../../src/http/errors.ts'
import { createRoles } from '../support/database.ts'
import { type Service, startService } from '../support/service.ts'

const { document, basePath } = readContract()

// A checker that shares nothing with the validators and serializers of Fastify.
const { default: OpenAPIResponseValidator } = SchemaValidator

interface Example {
  title: string
  path: string
  method: string
  operation: OpenAPIV3.OperationObject
  value: unknown
  /** The status that it is an example of; undefined for a request. */
  status: string | undefined
}

function* examples(): Generator<Example> {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item ?? {}) as [string, OpenAPIV3.OperationObject][]) {
      const bodies: [string | undefined, OpenAPIV3.RequestBodyObject | OpenAPIV3.ResponseObject][] = []
      if (operation.requestBody) bodies.push([undefined, resolve(document, operation.requestBody)])
      for (const [status, response] of Object.entries(operation.responses))
        bodies.push([status, resolve(document, response)])
      for (const [status, { content }] of bodies) {
        for (const [name, example] of Object.entries(content?.['application/json']?.examples ?? {})) {
          const title = `${operation.operationId} ${status ?? 'request'} ${name}`
          yield { title, path, method, operation, value: resolve(document, example).value, status }
        }
      }
    }
  }
}

/** Checks an answer against what the document says of its status. */
function conforms(t: Test, operation: OpenAPIV3.OperationObject, status: number, body: unknown, title: string): void {
  const responses = Object.fromEntries(
    Object.entries(operation.responses).map(([key, value]) => [key, resolve(document, value)])
  )
  const validator = new OpenAPIResponseValidator({ responses, components: document.components } as never)
  t.equal(validator.validateResponse(status, body), undefined, title)
}

async function send({ app, auth }: Service, { path, method, value }: Example) {
  return app.inject({
    method: method.toUpperCase() as 'POST',
    url: basePath + path,
    headers: auth,
    payload: value as object
  })
}

t.test('every example of a request is accepted, and its answer is what the document allows', async (t) => {
  // As the role that owns nothing: each operation has what it needs.
  const service = await startService(t, { databaseUrl: (await createRoles(t)).service })
  for (const example of examples()) {
    if (example.status !== undefined) continue
    const response = await send(service, example)
    t.match(String(response.statusCode), /^2/, example.title)
    conforms(t, example.operation, response.statusCode, response.json(), example.title)
  }
})

t.test(
  'the answers of the service to a right, a wrong and a keyless request are what the document allows',
  async (t) => {
    const { app, auth } = await startService(t)
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item ?? {}) as [string, OpenAPIV3.OperationObject][]) {
        const url = basePath + path
        const verb = method.toUpperCase() as 'POST'
        const wrong = operation.requestBody ? { payload: { wrong: true } } : {}
        for (const request of [{ headers: auth, ...wrong }, wrong]) {
          const response = await app.inject({ method: verb, url, ...request })
          conforms(
            t,
            operation,
            response.statusCode,
            response.json(),
            `${operation.operationId} ${response.statusCode}`
          )
        }
      }
    }
  }
)

t.test('every example of an error is a body that the service sends, with its status', async (t) => {
  const sent: { status: number; body: unknown }[] = []
  const post = async ({ app, auth }: Service, payload: unknown, headers = {}) => {
    const url = `${basePath}/categories`
    const response = await app.inject({
      method: 'POST',
      url,
      headers: { ...auth, ...headers },
      payload: payload as string
    })
    sent.push({ status: response.statusCode, body: response.json() })
  }
  const service = await startService(t)
  await post(service, {})
  await post(service, { name: 'x', descripton: 'y' })
  await post(service, 'x', { 'content-type': 'text/plain' })
  await post(service, {}, { authorization: 'Bearer x' })
  await post(service, {}, { authorization: '' })
  await post(service, { name: 'x'.repeat(65536) })
  const limited = await startService(t, { config: { RATE_LIMIT_MAX: 1, AUTH_FAILURES_MAX: 1 } })
  for (let request = 0; request < 2; request++) {
    await post(limited, { name: 'x' })
    await post(limited, {}, { authorization: '' })
  }
  // What becomes of them on the wire is tested in errors.test.ts, failures.test.ts and outages.test.ts.
  for (const error of [new Error(), new Unavailable(undefined), new OutcomeUnknown(undefined)]) {
    const { status, body } = toHttpError(error, 0)
    sent.push({ status, body })
  }
  for (const { title, value, status } of examples()) {
    if (status === undefined || status < '400') continue
    t.ok(
      sent.some((answer) => answer.status === Number(status) && isDeepStrictEqual(answer.body, value)),
      title
    )
  }
})
