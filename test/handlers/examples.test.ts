// Sends the requests of the examples in openapi.yaml, and compares the
// responses with their examples. CONTRIBUTING.md says how an example names its
// request. Each operation has the data of tools/seed.ts for itself; its
// requests are sent in the order of the OpenAPI document.
import { isDeepStrictEqual } from 'node:util'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { Overloaded } from '../../src/framework/batch.ts'
import { toHttpError } from '../../src/framework/http/errors.ts'
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
  checkDocumented,
  document,
  operations,
  requestsOf,
  responseExamples
} from '../support/examples.ts'
import { call, script } from '../support/process.ts'
import { type Service, startService } from '../support/service.ts'

interface Response {
  status: number
  body: unknown
}

const inject = ({ app, auth }: Service, request: InjectOptions) =>
  app.inject({ ...request, headers: { ...auth, ...request.headers } })

const responseOf = (response: { statusCode: number; body: string }) => ({
  status: response.statusCode,
  body: JSON.parse(response.body || '""') as unknown
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

for (const operation of operations) {
  const { operationId } = operation

  t.test(`${operationId} responds to its examples`, async (t) => {
    const service = await startSeeded(t)

    for (const { title, request, expected } of requestsOf(operation)) {
      const response = await inject(service, request)
      checkDocumented(t, operationId, response)

      if (expected) t.same(responseOf(response), expected, title)
      else t.match(String(response.statusCode), /^2/, title)
    }
  })
}

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

const isAmong = (responses: Response[], one: Response) =>
  responses.some((other) =>
    isDeepStrictEqual(withoutSeconds(other), withoutSeconds(one))
  )

t.test('each example of an error is a response, and the reverse', async (t) => {
  const errors = [
    await sendWithoutScope(t),
    ...(await exceedLimits(t)),
    ...(await sendKeyed(t)),
    ...errorsOfFailures()
  ]

  for (const operation of operations) {
    const requested = requestsOf(operation).flatMap(
      ({ expected }) => expected ?? []
    )
    for (const { name, request, response } of responseExamples(operation)) {
      const { status } = response
      // An operation that shares the example sends this request.
      const isShared = request?.operationId !== undefined
      const isSent = isShared || isAmong([...requested, ...errors], response)
      t.ok(
        isSent || status < 400,
        `${operation.operationId} ${status} ${name} needs an x-request, ` +
          'or a path example of its name'
      )
    }
  }

  const examples = operations.flatMap(responseExamples)
  const documented = examples.map(({ response }) => response)
  for (const failure of errorsOfFailures())
    t.ok(isAmong(documented, failure), JSON.stringify(failure.body))
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
      const { body } = toHttpError({ code })
      responses.push({ status: body.status, body })
    }

    const schema = document.components?.schemas?.['Error']
    const rows = JSON.stringify(schema).matchAll(/\\n\| (\d+) +\| (\w+) /g)
    const listed = [...rows].map(([, status, code]) => `${status} ${code}`)
    t.same(listed, responses.map(statusAndCode))
  }
)

t.test('a deprecated operation has the headers of its examples', async (t) => {
  const service = await startService(t)
  const { headers } = await inject(service, { url: `${basePath}/pets/1` })
  const { responses = [] } =
    operations.find(({ operationId }) => operationId === 'getPet') ?? {}
  const [[, { headers: documented = {} }] = ['', {}]] = responses

  for (const name of ['Deprecation', 'Sunset', 'Link'])
    t.equal(headers[name.toLowerCase()], documented[name]?.example, name)
})
