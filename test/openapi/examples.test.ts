import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { HTTPMethods, InjectOptions } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import t, { type Test } from 'tap'
import { toHttpError } from '../../src/http/errors.ts'
import { readApiDocument } from '../../src/openapi/document.ts'
import { OutcomeUnknown, Unavailable } from '../../src/postgres/outcomes.ts'
import { createRoles, holdKeys } from '../support/database.ts'
import { call, script } from '../support/process.ts'
import { type Service, startService } from '../support/service.ts'

const { document, basePath } = readApiDocument()

/** The object that a local `$ref` points to, or the object itself. */
function resolve<T extends object>(object: T | OpenAPIV3.ReferenceObject): T {
  if (!('$ref' in object)) return object
  const target = object.$ref.split('/').slice(1)
  return target.reduce<unknown>(
    (node, part) => (node as Record<string, unknown>)[part],
    document
  ) as T
}

const json = (message?: { content?: OpenAPIV3.RequestBodyObject['content'] }) =>
  message?.content?.['application/json']
const examplesOf = ({
  examples = {}
}: Pick<OpenAPIV3.MediaTypeObject, 'examples'> = {}) =>
  Object.entries(examples).map(([name, example]) => ({
    name,
    value: resolve(example).value as unknown
  }))

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  (
    Object.entries(item ?? {}) as [HTTPMethods, OpenAPIV3.OperationObject][]
  ).map(([method, operation]) => {
    const parameters = (operation.parameters ?? []).map((parameter) =>
      resolve(parameter)
    )
    const parameter = parameters.find((one) => one.in === 'path')
    const places = parameter
      ? examplesOf(parameter)
      : [{ name: undefined, value: undefined }]
    const bodies = operation.requestBody
      ? examplesOf(json(resolve(operation.requestBody)))
      : [undefined]
    return {
      id: operation.operationId,
      /** Each example of the path with each of the body, by the name of the former. */
      requests: places.flatMap(({ name, value }) =>
        bodies.map((body) => {
          const url = basePath + path.replace(/\{\w+\}/, String(value))
          return {
            name,
            request: {
              method,
              url,
              ...(body && { payload: body.value as object })
            }
          }
        })
      ),
      responses: Object.entries(operation.responses).map(
        ([status, response]) => {
          const content = json(resolve(response))
          return {
            status: Number(status),
            schema: content?.schema,
            examples: examplesOf(content)
          }
        }
      )
    }
  })
)

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }))

/** A 429 says in how many seconds to retry, which varies. */
const withoutSeconds = (sent: unknown): unknown =>
  JSON.parse(
    JSON.stringify(sent).replace(/retry in \d+ seconds?/, 'retry in N seconds')
  )

async function send(
  { app, auth }: Service,
  { headers, ...request }: InjectOptions
) {
  const response = await app.inject({
    ...request,
    headers: { ...auth, ...headers }
  })
  return {
    status: response.statusCode,
    body: response.body && response.json<unknown>()
  }
}

const { owner, service: databaseUrl } = await createRoles(t)
const service = await startService(t, { databaseUrl })

t.test('`npm run seed` adds the data of the examples once', async (t) => {
  const seed = (url: string) =>
    call(t, script('tools/seed.ts'), { env: { DATABASE_URL: url } })

  t.same(await seed(databaseUrl), {
    code: 1,
    output:
      'pet-categories: the database is unavailable: ' +
      'permission denied for table orders\n'
  })
  t.same(await seed(owner), {
    code: 0,
    output: 'Added 3 categories, 3 pets and 2 orders.\n'
  })
  t.same(await seed(owner), {
    code: 0,
    output: 'Nothing was added: the database has pets.\n'
  })
})

// The service has the least privileges, which must be enough for every operation.
t.test(
  'an example of a path gets the example response of its name, and any other request succeeds',
  async (t) => {
    for (const { id, requests, responses } of operations) {
      for (const { name, request } of requests) {
        const sent = await send(service, request)
        const documented = responses.find(
          ({ status }) => status === sent.status
        )
        const { schema = { enum: [''] } } = documented ?? {}
        const isValid =
          documented &&
          ajv.validate(
            { ...schema, components: document.components },
            sent.body
          )
        t.ok(isValid, `${id} ${sent.status} ${ajv.errorsText()}`)
        const [expected] = responses.flatMap(({ status, examples }) =>
          examples
            .filter((one) => one.name === name)
            .map(({ value }) => ({ status, body: value }))
        )
        if (expected) t.same(sent, expected, `${id} ${name}`)
        else t.match(String(sent.status), /^2/, `${id} ${name}`)
      }
    }
  }
)

const createCategory = (payload: string | object, headers = {}) =>
  ({
    method: 'POST',
    url: `${basePath}/categories`,
    headers,
    payload
  }) as const

const keyed = (name: string, key = 'key') =>
  createCategory({ name }, { 'idempotency-key': key })

const named = createCategory({ name: 'x' })
const anonymous = createCategory({}, { authorization: '' })

/** Requests whose errors depend on nothing else. */
const faulty: InjectOptions[] = [
  createCategory({}),
  createCategory({ name: 'x', descripton: 'y' }),
  createCategory('x', { 'content-type': 'text/plain' }),
  anonymous,
  createCategory({}, { authorization: 'Bearer x' }),
  createCategory({ name: 'x'.repeat(65536) }),
  keyed('x', 'a b'),
  {
    method: 'POST',
    url: `${basePath}/pets`,
    payload: { name: 'x', categoryId: 404 }
  },
  { url: `${basePath}/pets?status=lost` },
  { url: `${basePath}/pets?cursor=x` },
  { url: `${basePath}/pets/x` },
  { method: 'DELETE', url: `${basePath}/store/orders/x` },
  ...operations.flatMap(({ requests }) =>
    requests.map(({ request }) => request)
  )
]

interface Response {
  status: number
  body: unknown
}

async function sendAll(to: Service, requests: InjectOptions[]) {
  const responses: Response[] = []

  for (const request of requests) responses.push(await send(to, request))

  return responses
}

/** The error of a key that lacks the scope. */
async function sendWithoutScope(): Promise<Response> {
  const apiKey = await service.keys.create('reader', {
    scopes: ['categories:read']
  })
  const headers = { authorization: `Bearer ${apiKey}` }
  return send(service, { ...named, headers })
}

/** Errors of limits: one request a minute is allowed. */
async function sendTooMany(t: Test) {
  const limited = await startService(t, {
    config: { MAX_REQUESTS_PER_MINUTE: 1, MAX_REJECTED_KEYS_PER_MINUTE: 1 }
  })

  return sendAll(limited, [named, named, anonymous, anonymous])
}

/** Errors of an Idempotency-Key: reused, and held. */
async function sendKeyed(t: Test) {
  const busy = await startService(t, { config: { DATABASE_TIMEOUT_MS: 2000 } })
  const reused = await sendAll(busy, [keyed('x'), keyed('y')])

  await holdKeys(t, busy.databaseUrl)

  return [...reused, await send(busy, keyed('x'))]
}

/** Errors that other tests provoke on a connection. */
function respondToFailures(): Response[] {
  const failures = [
    new Error(),
    new Unavailable(new Error()),
    new OutcomeUnknown(undefined),
    new OutcomeUnknown(undefined, 'outcome_unknown_with_key')
  ]

  return failures.map((failure) => {
    const { body } = toHttpError(failure)
    return { status: body.status, body }
  })
}

t.test('the service sends every example of an error', async (t) => {
  const sent: Response[] = [
    ...(await sendAll(service, faulty)),
    await sendWithoutScope(),
    ...(await sendTooMany(t)),
    ...(await sendKeyed(t)),
    ...respondToFailures()
  ]

  const documented = operations.flatMap(({ id, responses }) =>
    responses
      .filter(({ status }) => status >= 400)
      .flatMap(({ status, examples }) =>
        examples.map(({ name, value }) => ({ id, name, status, body: value }))
      )
  )

  for (const { id, name, status, body } of documented) {
    const isSent = sent.some((response) =>
      isDeepStrictEqual(
        withoutSeconds(response),
        withoutSeconds({ status, body })
      )
    )
    t.ok(isSent, `${id} ${status} ${name}`)
  }
})
