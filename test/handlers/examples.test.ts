// Sends the requests of the examples in openapi.yaml, and compares the
// responses with their examples. CONTRIBUTING.md says how an example names its
// request. Each operation has the data of tools/seed.ts for itself; its
// requests are sent in the order of the OpenAPI document.
import { isDeepStrictEqual } from 'node:util'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { Overloaded } from '../../src/framework/batch.ts'
import { toHttpError } from '../../src/framework/http/error-responses.ts'
import { notImplemented } from '../../src/framework/openapi/not-implemented.ts'
import {
  OutcomeUnknown,
  Unavailable
} from '../../src/framework/postgres/failures.ts'
import { listTooLong } from '../../src/framework/reads/list-handler.ts'
import {
  createDatabase,
  createRoles,
  holdKeys,
  urlOf
} from '../support/database.ts'
import {
  basePath,
  bodiesOf,
  checkDocumented,
  document,
  operations,
  requestOf,
  requestsOf,
  responseExamples,
  scopes
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

/** Sends requests one after the other. */
async function send(service: Service, ...requests: InjectOptions[]) {
  const responses: Response[] = []
  for (const request of requests)
    responses.push(responseOf(await inject(service, request)))

  return responses
}

const { owner, service: seeded } = await createRoles(t)
const nameOf = (url: string) => new URL(url).pathname.slice(1)

const seeding = await call(t, script('tools/seed.ts'), {
  env: { DATABASE_URL: owner }
})
t.equal(seeding.code, 0, seeding.output)

/**
 * Starts the service on a copy of the seeded database. It has the least
 * privileges, which must be enough for every operation.
 */
async function startSeeded(t: Test, config = {}): Promise<Service> {
  const copy = await createDatabase(
    t,
    `TEMPLATE ${nameOf(seeded)} STRATEGY wal_log`
  )

  return startService(t, {
    databaseUrl: urlOf(seeded, nameOf(copy)),
    config
  })
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

const isKeyed = ({ responses }: (typeof operations)[number]) =>
  responses.some(([status]) => status === '422')

/** A create that has an Idempotency-Key, and its examples of bodies. */
const creating = operations.find(
  (one) => isKeyed(one) && bodiesOf(one).length > 1
)
if (creating === undefined)
  throw new Error('a create with an Idempotency-Key needs two example bodies')
const [first, second] = bodiesOf(creating).map(([, body]) =>
  requestOf(creating, { body })
)
const keyed = (request?: InjectOptions) => ({
  ...request,
  headers: { 'idempotency-key': 'key' }
})

/** The errors of a key that lacks most scopes. */
async function sendWithoutScope(t: Test) {
  const service = await startService(t)
  const apiKey = await service.keys.create('x', { scopes: scopes.slice(0, 1) })
  const headers = { authorization: `Bearer ${apiKey}` }
  return send(
    service,
    ...operations.map((one) => ({ ...requestOf(one), headers }))
  )
}

/** An error of each limit: of the body, and of one request a minute. */
async function exceedLimits(t: Test) {
  const service = await startService(t, {
    config: { MAX_REQUESTS_PER_MINUTE: 1 }
  })
  return send(
    service,
    { ...first, payload: { x: 'x'.repeat(65536) } },
    { ...first },
    { ...first, headers: { authorization: '' } }
  )
}

/** Errors of an Idempotency-Key: reused, and held. */
async function sendKeyed(t: Test) {
  const busy = await startSeeded(t, { DATABASE_TIMEOUT_MS: 2000 })
  const reused = await send(busy, keyed(first), keyed(second))
  await holdKeys(t, busy.databaseUrl)

  // The first would violate a UNIQUE constraint: its row is stored.
  return [...reused, ...(await send(busy, keyed(second)))]
}

/** The responses to failures, which other tests cause. */
const failures = [
  new Error(),
  new Unavailable('x', new Error()),
  new Overloaded(),
  new OutcomeUnknown(undefined)
].map(errorResponse)

function errorResponse(error: unknown): Response {
  const { body } = toHttpError(error)
  return { status: body.status, body }
}

/** The responses in the examples of all operations. */
const documented = operations
  .flatMap(responseExamples)
  .map(({ response }) => response)

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
    ...(await sendWithoutScope(t)),
    ...(await exceedLimits(t)),
    ...(await sendKeyed(t)),
    ...failures,
    errorResponse(listTooLong)
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

  for (const failure of failures)
    t.ok(isAmong(documented, failure), JSON.stringify(failure.body))
})

const statusAndCode = ({ status, body }: Response) => {
  const { code } = body as { code: string }
  return `${status} ${code}`
}

t.test(
  'the schema Error lists all errors, also those of no operation',
  async (t) => {
    const service = await startService(t)
    const [, path] = String(operations[0]?.request).split(' ')
    const responses = await send(
      service,
      { url: '/%zz' },
      { url: `${basePath}/none` },
      { method: 'TRACE', url: `${basePath}${path}` }
    )
    for (const code of ['ERR_HTTP_REQUEST_TIMEOUT', 'HPE_HEADER_OVERFLOW'])
      responses.push(errorResponse({ code }))
    const body = { code: 'not_implemented', status: 501 }
    t.throws(notImplemented, Object.assign(new Error(), { body }))

    const schema = document.components?.schemas?.['Error']
    const rows = JSON.stringify(schema).matchAll(/\| (\d+) +\| (\w+)(\*?) /g)
    const listed = [...rows].map(([, status, code, star]) => ({
      name: `${status} ${code}`,
      isGeneral: star === '*'
    }))
    const general = listed.filter(({ isGeneral }) => isGeneral)
    t.same(
      general.map(({ name }) => name),
      [...responses.map(statusAndCode), '501 not_implemented']
    )

    const errors = documented.filter(({ status }) => status >= 400)
    const names = new Set(listed.map(({ name }) => name))
    const all = [...errors.map(statusAndCode), ...names]
    t.same(new Set(all), names, 'all are listed')
  }
)
