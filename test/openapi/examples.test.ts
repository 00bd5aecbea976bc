import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { HTTPMethods, InjectOptions } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import t from 'tap'
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
  for (const [url, code, output] of [
    [
      databaseUrl,
      1,
      'pet-categories: the database is unavailable: permission denied for table orders\n'
    ],
    [owner, 0, 'Added 3 categories, 3 pets and 2 orders.\n'],
    [owner, 0, 'Nothing was added: the database has pets.\n']
  ] as const) {
    t.same(
      await call(t, script('tools/seed.ts'), { env: { DATABASE_URL: url } }),
      { code, output }
    )
  }
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

t.test('the service sends every example of an error', async (t) => {
  const post = (payload: string | object, headers = {}) =>
    ({
      method: 'POST',
      url: `${basePath}/categories`,
      headers,
      payload
    }) as const
  const keyed = (name: string, key = 'key') =>
    post({ name }, { 'idempotency-key': key })
  const [named, anonymous] = [
    post({ name: 'x' }),
    post({}, { authorization: '' })
  ]
  const limited = await startService(t, {
    config: { MAX_REQUESTS_PER_MINUTE: 1, MAX_REJECTED_KEYS_PER_MINUTE: 1 }
  })
  const busy = await startService(t, { config: { DATABASE_TIMEOUT_MS: 2000 } })
  const sent: { status: number; body: unknown }[] = []
  for (const [to, ...requests] of [
    [
      service,
      post({}),
      post({ name: 'x', descripton: 'y' }),
      post('x', { 'content-type': 'text/plain' })
    ],
    [
      service,
      anonymous,
      post({}, { authorization: 'Bearer x' }),
      post({ name: 'x'.repeat(65536) }),
      keyed('x', 'a b')
    ],
    [
      service,
      {
        method: 'POST',
        url: `${basePath}/pets`,
        payload: { name: 'x', categoryId: 404 }
      }
    ],
    [
      service,
      ...['pets?status=lost', 'pets?cursor=x', 'pets/x'].map((path) => ({
        url: `${basePath}/${path}`
      }))
    ],
    [service, { method: 'DELETE', url: `${basePath}/store/orders/x` }],
    [
      service,
      ...operations.flatMap(({ requests }) =>
        requests.map(({ request }) => request)
      )
    ],
    [limited, named, named, anonymous, anonymous],
    [busy, keyed('x'), keyed('y')]
  ] as [Service, ...InjectOptions[]][]) {
    for (const request of requests) sent.push(await send(to, request))
  }
  await holdKeys(t, busy.databaseUrl)
  sent.push(await send(busy, keyed('x')))
  const unknown = (code?: OutcomeUnknown['code']) =>
    new OutcomeUnknown(undefined, code)
  // Other tests provoke them on a connection.
  for (const error of [
    new Error(),
    new Unavailable(new Error()),
    unknown(),
    unknown('outcome_unknown_with_key')
  ]) {
    const { body } = toHttpError(error)
    sent.push({ status: body.status, body })
  }
  for (const { id, responses } of operations) {
    for (const { status, examples } of responses.filter(
      ({ status }) => status >= 400
    )) {
      for (const { name, value } of examples) {
        const isSent = sent.some((one) =>
          isDeepStrictEqual(
            withoutSeconds(one),
            withoutSeconds({ status, body: value })
          )
        )
        t.ok(isSent, `${id} ${status} ${name}`)
      }
    }
  }
})
