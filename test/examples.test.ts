// Compares each example of openapi.yaml with the response of the service, which
// has the rows of `npm run seed`. A request is the example
// of a body or a path parameter, and its response the example of the same name;
// test/support/examples.ts has the requests that get the examples of errors.
import { isDeepStrictEqual } from 'node:util'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { OverloadedError } from '../src/batch.ts'
import { toHttpError } from '../src/http/error-responses.ts'
import {
  OutcomeUnknownError,
  DatabaseUnavailableError
} from '../src/postgres/failures.ts'
import { createDatabase } from './support/database.ts'
import { postgresError } from './support/postgres-error.ts'
import {
  bodiesOf,
  exampleCases,
  operations,
  requestOf,
  responseExamples,
  scopes
} from './support/examples.ts'
import { runToEnd, scriptArgv } from './support/process.ts'
import { bearer, idempotencyKey } from './support/requests.ts'
import { type Service, startService } from './support/service.ts'

interface Response {
  status: number
  body: unknown
}

const inject = ({ app, auth }: Service, request: InjectOptions) =>
  app.inject({ ...request, headers: { ...auth, ...request.headers } })

const responseOf = (response: {
  statusCode: number
  body: string
}): Response => ({
  status: response.statusCode,
  body: JSON.parse(response.body || '""')
})

/** A response without what the service assigns to a row that it creates. */
function withoutAssigned(response?: Response): unknown {
  const isCreate = response?.status === 201 || response?.status === 202
  return isCreate
    ? { ...response, body: { ...(response.body as object), ...assigned } }
    : response
}

const assigned = { id: 'assigned', createdAt: 'assigned' }

/** Sends requests one after the other. */
async function send(service: Service, ...requests: InjectOptions[]) {
  const responses: Response[] = []
  for (const request of requests)
    responses.push(responseOf(await inject(service, request)))
  return responses
}

const seeded = await createDatabase(t)
const seeding = await runToEnd(t, scriptArgv('tools/seed.ts'), {
  env: { DATABASE_URL: seeded }
})
if (seeding.code !== 0) throw new Error(seeding.output)

/** Starts the service on a copy of the seeded database. */
async function startSeeded(t: Test, config = {}): Promise<Service> {
  const template = new URL(seeded).pathname.slice(1)
  const databaseUrl = await createDatabase(t, `TEMPLATE ${template}`)
  return startService(t, { databaseUrl, config })
}

/** What any response may have, although the document does not name it there. */
const usualHeaders = [
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'date',
  'ratelimit',
  'ratelimit-policy',
  'vary',
  'x-content-type-options',
  'x-request-id'
]

/** The headers of a response, and those that the document wants it to have. */
function headersOf(
  { responses }: (typeof operations)[number],
  { statusCode, headers }: { statusCode: number; headers: object }
): [string[], string[]] {
  const { headers: described = {} } = responses[statusCode] ?? {}
  const documented = Object.entries(described)
    .map(([name, header]) => ({ ...header, name: name.toLowerCase() }))
    .filter((one) => one.name in headers || !/absent/i.test(one.description))
    .map(({ name }) => name)
  const sent = Object.keys(headers).filter(
    (name) => documented.includes(name) || !usualHeaders.includes(name)
  )
  return [sent.sort(), documented.sort()]
}

const service = await startSeeded(t, { MAX_REQUESTS_PER_MINUTE: 200 })
// Before an operation adds a row.
const reads = operations.filter(({ method }) => method === 'GET')

for (const operation of new Set([...reads, ...operations])) {
  t.test(`${operation.operationId} responds to its examples`, async (t) => {
    for (const { title, request, expected } of exampleCases(operation)) {
      const response = await inject(service, request)
      t.same(...headersOf(operation, response), `headers of ${title}`)
      const [sent, documented] = [responseOf(response), expected].map(
        withoutAssigned
      )
      t.same(sent, documented, title)
    }
  })
}

const creating = operations.find((one) => bodiesOf(one).length > 1)!
const [first, second] = bodiesOf(creating).map(([, body]) => ({
  ...requestOf(creating, {
    body: body as object,
    headers: idempotencyKey('key')
  })
}))

/** The errors of an API key that lacks most scopes. */
async function sendWithoutScope() {
  const apiKey = await service.createApiKey('x', { scopes: scopes.slice(0, 1) })
  const requests = operations.map((one) => ({
    ...requestOf(one),
    headers: bearer(apiKey)
  }))
  return send(service, ...requests)
}

/** An error of each limit. */
async function exceedLimits(t: Test) {
  const limited = await startSeeded(t, {
    MAX_REQUESTS_PER_MINUTE: 2,
    MAX_RESPONSE_BUFFER_BYTES: 1
  })
  return send(limited, { url: '/v1/categories' }, { ...first }, { ...first })
}

/** Errors of an Idempotency-Key: in use, and reused. */
async function sendKeyed() {
  // The API key is trusted then, so all but the first share a statement.
  await send(service, { url: '/v1/categories' })
  const together = Array.from({ length: 20 }, () =>
    inject(service, { ...first })
  )
  const inUse = (await Promise.all(together)).map(responseOf)
  return [...inUse, ...(await send(service, { ...second }))]
}

/** The responses to failures, which other tests cause. */
const failures = [
  new Error(),
  postgresError('23514'),
  new DatabaseUnavailableError(new Error()),
  new OverloadedError(),
  new OutcomeUnknownError(undefined)
].map((error): Response => {
  const { body } = toHttpError(error)
  return { status: body.status, body }
})

/** A 429 says in how many seconds to retry, which varies. */
const withoutSeconds = (response: unknown): unknown =>
  JSON.parse(JSON.stringify(response).replace(/in \d+ s/, 'in N s'))

t.test('each example of an error is a response', async (t) => {
  const errors = [
    ...(await sendWithoutScope()),
    ...(await exceedLimits(t)),
    ...(await sendKeyed()),
    ...failures
  ].map(withoutSeconds)

  for (const operation of operations) {
    const requested = exampleCases(operation).map(({ expected }) => expected)
    for (const { name, response } of responseExamples(operation)) {
      const isSent = [...requested, ...errors].some((one) =>
        isDeepStrictEqual(one, withoutSeconds(response))
      )
      t.ok(
        isSent || response.status < 400,
        `${operation.operationId} ${response.status} ${name} needs a request ` +
          'in test/support/examples.ts'
      )
    }
  }
})
