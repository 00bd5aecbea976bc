// Sends the requests of the examples in openapi.yaml, and compares the
// responses with their examples. CONTRIBUTING.md says how an example names its
// request. Each operation has the data of tools/seed.ts for itself; its
// requests are sent in the order of the OpenAPI document.
import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { Overloaded } from '../../src/framework/batch.ts'
import { parserError, toHttpError } from '../../src/framework/http/errors.ts'
import {
  OutcomeUnknown,
  Unavailable
} from '../../src/framework/postgres/failures.ts'
import {
  createDatabase,
  createRoles,
  holdKeys,
  urlOf
} from '../support/database.ts'
import {
  basePath,
  document,
  type ExampleOperation,
  generalHeaders,
  operations,
  requestsOf,
  resolve
} from '../support/examples.ts'
import { call, script } from '../support/process.ts'
import { type Service, startService } from '../support/service.ts'

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }))

interface Response {
  status: number
  body: unknown
}

async function inject({ app, auth }: Service, request: InjectOptions) {
  const headers = { ...auth, ...request.headers }

  return app.inject({ ...request, headers })
}

type InjectedResponse = Awaited<ReturnType<typeof inject>>

const responseOf = ({ statusCode, body }: InjectedResponse): Response => ({
  status: statusCode,
  body: body === '' ? '' : (JSON.parse(body) as unknown)
})

const send = async (service: Service, request: InjectOptions) =>
  responseOf(await inject(service, request))

const { owner, service: seeded } = await createRoles(t)
const nameOf = (url: string) => new URL(url).pathname.slice(1)

t.test('`npm run seed` adds the data of the examples once', async (t) => {
  const seed = (url: string) =>
    call(t, script('tools/seed.ts'), { env: { DATABASE_URL: url } })

  t.same(await seed(seeded), {
    code: 1,
    output:
      'pet-categories: the database is unavailable: ' +
      'permission denied for table orders\n'
  })
  t.same(await seed(owner), {
    code: 0,
    output: 'Added 4 categories, 3 pets and 2 orders.\n'
  })
  t.same(await seed(owner), {
    code: 0,
    output: 'Nothing was added: the database has pets.\n'
  })
})

/**
 * Starts the service on a copy of the seeded database. It has the least
 * privileges, which must be enough for every operation.
 */
async function startSeeded(t: Test): Promise<Service> {
  const copy = await createDatabase(
    t,
    `TEMPLATE ${nameOf(seeded)} STRATEGY wal_log`
  )

  return startService(t, { databaseUrl: urlOf(seeded, nameOf(copy)) })
}

const undocumentedHeaders = (
  { headers }: InjectedResponse,
  documented: string[] = []
) =>
  Object.keys(headers).filter(
    (name) => !documented.includes(name) && !generalHeaders.includes(name)
  )

/** Checks the status, headers, Content-Type and schema of a response. */
function checkDocumented(
  t: Test,
  { responses }: ExampleOperation,
  response: InjectedResponse,
  title: string
): void {
  const { status, body } = responseOf(response)
  const documented = responses.find((one) => one.status === status)
  const { schema } = documented ?? {}

  t.ok(documented, `${title}: the status ${status} is documented`)
  t.same(
    undocumentedHeaders(response, documented?.headers),
    [],
    `${title}: its headers are documented`
  )
  if (schema === undefined) {
    t.equal(body, '', `${title}: no body`)
    return
  }

  t.equal(
    response.headers['content-type'],
    'application/json; charset=utf-8',
    title
  )
  const { components } = document
  const isValid = ajv.validate({ ...schema, components }, body)
  t.ok(isValid, `${title}: ${ajv.errorsText()}`)
}

for (const operation of operations) {
  t.test(`${operation.id} responds to its examples`, async (t) => {
    const service = await startSeeded(t)

    for (const { title, request, expected } of requestsOf(operation)) {
      const response = await inject(service, request)

      checkDocumented(t, operation, response, title)

      if (expected) t.same(responseOf(response), expected, title)
      else t.match(String(response.statusCode), /^2/, title)
    }
  })
}

t.test('each example of an error of one operation has a request', (t) => {
  for (const operation of operations) {
    const requested = requestsOf(operation).map(({ expected }) => expected)
    const errors = operation.responses.filter(
      ({ status, component }) => status >= 400 && component === undefined
    )

    for (const { status, examples } of errors) {
      for (const { name, value } of examples) {
        const example = { status, body: value }

        t.ok(
          requested.some((one) => isDeepStrictEqual(one, example)),
          `${operation.id} ${status} ${name} needs an x-request, ` +
            'or a path example of its name'
        )
      }
    }
  }
  t.end()
})

const createCategory = (payload: object, headers = {}) =>
  ({
    method: 'POST',
    url: `${basePath}/categories`,
    headers,
    payload
  }) as const

const keyed = (name: string) =>
  createCategory({ name }, { 'idempotency-key': 'key' })

const named = createCategory({ name: 'x' })
const anonymous = createCategory({}, { authorization: '' })

async function sendAll(to: Service, requests: InjectOptions[]) {
  const responses: Response[] = []

  for (const request of requests) responses.push(await send(to, request))

  return responses
}

/** The error of a key that lacks the scope. */
async function sendWithoutScope(t: Test) {
  const service = await startService(t)
  const apiKey = await service.keys.create('reader', {
    scopes: ['categories:read']
  })
  const headers = { authorization: `Bearer ${apiKey}` }

  return send(service, { ...named, headers })
}

/** An error of each limit: of the body, and of one request a minute. */
async function exceedLimits(t: Test) {
  const service = await startService(t, {
    config: { MAX_REQUESTS_PER_MINUTE: 1, MAX_REJECTED_KEYS_PER_MINUTE: 1 }
  })
  const large = createCategory({ name: 'x'.repeat(65536) })

  return sendAll(service, [large, named, anonymous, anonymous])
}

/** Errors of an Idempotency-Key: reused, and held. */
async function sendKeyed(t: Test) {
  const busy = await startService(t, { config: { DATABASE_TIMEOUT_MS: 2000 } })
  const reused = await sendAll(busy, [keyed('x'), keyed('y')])

  await holdKeys(t, busy.databaseUrl)

  return [...reused, await send(busy, keyed('x'))]
}

/** The errors of failures, which other tests cause. */
function errorsOfFailures(): Response[] {
  const failures = [
    new Error(),
    new Unavailable(new Error()),
    new Overloaded(),
    new OutcomeUnknown(undefined),
    new OutcomeUnknown(undefined, 'outcome_unknown_with_key')
  ]

  return failures.map((failure) => {
    const { body } = toHttpError(failure)
    return { status: body.status, body }
  })
}

/** A 429 says in how many seconds to retry, which varies. */
const withoutSeconds = (response: unknown): unknown =>
  JSON.parse(
    JSON.stringify(response).replace(
      /retry in \d+ seconds?/,
      'retry in N seconds'
    )
  )

t.test(
  'each example of a shared error without an x-request is sent',
  async (t) => {
    const errors = [
      await sendWithoutScope(t),
      ...(await exceedLimits(t)),
      ...(await sendKeyed(t)),
      ...errorsOfFailures()
    ]

    const shared = operations
      .flatMap(({ responses }) => responses)
      .filter(({ component }) => component !== undefined)

    for (const { status, component, examples } of shared) {
      for (const { name, value, request } of examples) {
        if (request !== undefined) continue

        const isSent = errors.some((response) =>
          isDeepStrictEqual(
            withoutSeconds(response),
            withoutSeconds({ status, body: value })
          )
        )
        t.ok(isSent, `${component} ${name}`)
      }
    }
  }
)

t.test('every failure of the service has an example', (t) => {
  const documented = operations.flatMap(({ responses }) =>
    responses.flatMap(({ status, examples }) =>
      examples.map(({ value }) => ({ status, body: value }))
    )
  )

  for (const failure of errorsOfFailures()) {
    const isDocumented = documented.some((example) =>
      isDeepStrictEqual(example, failure)
    )
    t.ok(isDocumented, JSON.stringify(failure.body))
  }
  t.end()
})

const statusAndCode = ({ status, body }: Response) => {
  const { code } = body as { code: string }
  return `${status} ${code}`
}

t.test(
  'the schema Error lists the errors that no operation documents',
  async (t) => {
    const service = await startService(t)
    const responses = await sendAll(service, [
      { url: '/%zz' },
      { url: `${basePath}/none` },
      { method: 'PUT', url: `${basePath}/pets` }
    ])
    for (const code of ['ERR_HTTP_REQUEST_TIMEOUT', 'HPE_HEADER_OVERFLOW']) {
      const { body } = parserError(code)
      responses.push({ status: body.status, body })
    }

    const schema = resolve(document.components?.schemas?.['Error'] ?? {})
    const rows = String(schema.description).matchAll(/^\| (\d+) +\| (\w+) /gm)
    const listed = [...rows].map(([, status, code]) => `${status} ${code}`)
    t.same(listed, responses.map(statusAndCode))
  }
)

t.test(
  'responses of a deprecated operation have the headers of their examples',
  async (t) => {
    const service = await startService(t)
    const { headers } = await inject(service, { url: `${basePath}/pets/1` })
    const documented = resolve(document.components?.headers ?? {})
    for (const [name, component] of Object.entries({
      deprecation: 'Deprecation',
      sunset: 'Sunset',
      link: 'Successor'
    })) {
      const header = resolve(documented[component] ?? {})
      t.equal(headers[name], header.example, name)
    }
  }
)
