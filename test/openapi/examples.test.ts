import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { HTTPMethods, InjectOptions } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import { toHttpError } from '../../src/http/errors.ts'
import { readContract, resolve } from '../../src/openapi/document.ts'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/errors.ts'
import { createRoles } from '../support/database.ts'
import { run, script } from '../support/process.ts'
import { type Service, startService } from '../support/service.ts'

const { document, basePath } = readContract()

interface HasExamples {
  examples?: NonNullable<OpenAPIV3.MediaTypeObject['examples']>
}

const examplesOf = ({ examples = {} }: HasExamples) =>
  Object.entries(examples).map(([name, example]) => ({ name, value: resolve(document, example).value as unknown }))
const examplesIn = ({ content }: { content?: OpenAPIV3.RequestBodyObject['content'] } = {}) =>
  examplesOf((content?.['application/json'] ?? {}))

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  (Object.entries(item ?? {}) as [HTTPMethods, OpenAPIV3.OperationObject][]).map(([method, operation]) => {
    const parameters = (operation.parameters ?? []).map((parameter) => resolve(document, parameter))
    const responses = Object.entries(operation.responses).map(
      ([status, response]) => [status, resolve(document, response)] as const
    )
    const requestBody = operation.requestBody && resolve(document, operation.requestBody)
    const [parameter] = parameters.filter((one) => one.in === 'path')
    // Each named example of its path parameter makes a URL.
    const urls = parameter && examplesOf(parameter)
    const at = (value: unknown) => basePath + path.replace(/\{\w+\}/, String(value))
    return {
      id: operation.operationId,
      method,
      urls: urls?.map(({ name, value }) => ({ name, url: at(value) })) ?? [{ name: undefined, url: at('') }],
      requestBody,
      responses
    }
  })
)
type Operation = (typeof operations)[number]

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }))

/** Sends a request and checks that the document allows its response. */
async function conforms(t: Test, { app }: Service, { id, method, urls, responses }: Operation, request: InjectOptions) {
  const response = await app.inject({ method, url: String(urls[0]?.url), ...request })
  const documented = responses.find(([status]) => status === String(response.statusCode))?.[1]
  const schema = documented?.content?.['application/json']?.schema
  const isValid = schema
    ? ajv.validate({ ...schema, components: document.components }, response.json())
    : documented !== undefined && response.body === ''
  t.ok(isValid, `${id} ${response.statusCode} ${ajv.errorsText()}`)
  return response
}

/** A service on a database with the examples of `npm run seed`, with the least privileges, which must be enough for it. */
async function startSeeded(t: Test, config = {}) {
  const { owner, service } = await createRoles(t)
  for (const output of [/^Added/, /^Nothing was added/]) {
    const seed = run(t, script('src/seed.ts'), { env: { DATABASE_URL: owner } })
    t.equal(await seed.exited, 0)
    t.match(seed.output(), output)
  }
  return startService(t, { databaseUrl: service, config })
}

t.test('every example of a request gets the example response of its name, or succeeds', async (t) => {
  const service = await startSeeded(t)
  for (const operation of operations) {
    for (const { name, url } of operation.urls) {
      const bodies = operation.requestBody ? examplesIn(operation.requestBody) : [{ name: 'without', value: undefined }]
      for (const body of bodies) {
        const payload = body.value === undefined ? {} : { payload: body.value as object }
        const response = await conforms(t, service, operation, { url, headers: service.auth, ...payload })
        const expected = operation.responses.flatMap(([status, { content }]) =>
          examplesIn({ ...(content && { content }) })
            .filter((one) => one.name === name)
            .map(({ value }) => ({ status: Number(status), value }))
        )
        const sent = { status: response.statusCode, value: response.body && response.json<unknown>() }
        if (expected[0]) t.same(sent, expected[0], `${operation.id} ${name}`)
        else t.match(String(sent.status), /^2/, `${operation.id} ${body.name}`)
      }
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
  for (const { method, urls, requestBody } of operations) {
    const payload = examplesIn(requestBody)[0]?.value as object | undefined
    for (const { url } of urls) await send(service, { method, url, ...(payload && { payload }) })
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
