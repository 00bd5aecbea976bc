import t from 'tap'
import { randomApiKey } from '../src/api-keys/api-key.ts'
import { listApiKeys, revokeApiKey } from '../src/api-keys/manage-api-keys.ts'
import { sha256Bytea } from '../src/postgres/sql.ts'
import { query } from './support/database.ts'
import { operations, requestOf, scopes } from './support/examples.ts'
import {
  bearer,
  createCategory,
  idempotencyKey,
  listCategories,
  statusOrCode
} from './support/requests.ts'
import { successes } from './support/metrics.ts'
import { startService } from './support/service.ts'

const service = await startService(t)
const { app, connection, createApiKey, databaseUrl, apiKey } = service

t.test('the scheme is case-insensitive; no API key, no access', async (t) => {
  t.equal(
    await statusOrCode(
      listCategories(service, { authorization: `bEaReR ${apiKey}` })
    ),
    200
  )

  const challenge = 'Bearer realm="pet-categories"'
  const invalid = `${challenge}, error="invalid_token"`
  for (const [authorization, sent] of [
    ['', challenge],
    [`Basic ${apiKey}`, invalid],
    [`Bearer ${apiKey}0`, invalid],
    [`Bearer ${randomApiKey()}`, invalid]
  ]) {
    const response = await listCategories(service, { authorization })
    t.equal(response.statusCode, 401)
    t.equal(response.headers['www-authenticate'], sent)
  }
  const lookUps = await successes(app, 'lookUpApiKey')
  t.equal(lookUps, 2, 'a malformed API key costs none')
})

t.test(
  'API keys that are looked up at once get their own answers',
  async (t) => {
    const scoped = await createApiKey('scoped', { scopes: ['pets:read'] })
    const answers = [
      [await createApiKey('all'), 200],
      [randomApiKey(), 'unauthorized'],
      [scoped, 'insufficient_scope'],
      [scoped, 'insufficient_scope']
    ] as const
    const before = await successes(app, 'lookUpApiKey')
    const sent = Array.from({ length: 10 }, () => answers).flat()
    t.same(
      await Promise.all(
        sent.map(([token]) =>
          statusOrCode(listCategories(service, bearer(token)))
        )
      ),
      sent.map(([, answer]) => answer)
    )
    const lookUps = (await successes(app, 'lookUpApiKey')) - before
    t.ok(lookUps < sent.length / 2, `${lookUps} statements`)
  }
)

t.test(
  'of several mistakes, a request gets the first as its error',
  async (t) => {
    const limited = await startService(t, {
      databaseUrl,
      config: { MAX_REQUESTS_PER_MINUTE: 2 }
    })
    const scoped = bearer(
      await createApiKey('hasty', { scopes: ['pets:read'] })
    )
    const unauthenticated = bearer(randomApiKey())
    for (const [method, path, headers, code] of [
      ['PUT', 'nothing', unauthenticated, 'not_found'],
      ['PUT', 'categories', unauthenticated, 'method_not_allowed'],
      ['POST', 'categories', unauthenticated, 'unauthorized'],
      ['POST', 'categories', scoped, 'insufficient_scope'],
      ['POST', 'pets', scoped, 'insufficient_scope'],
      ['POST', 'pets', scoped, 'rate_limited'],
      ['POST', 'pets', limited.auth, 'invalid_request']
    ] as const) {
      const url = `/v1/${path}`
      const request = { method, url, headers, payload: { unknown: 1 } }
      t.equal(await statusOrCode(limited.app.inject(request)), code)
    }
  }
)

t.test('an API key is stored as its hash, with a visible name', async (t) => {
  const [row] = await query(
    databaseUrl,
    `SELECT '\\x' || encode(hash, 'hex') AS hash, api_keys::text AS row
     FROM api_keys`
  )
  t.equal(row?.['hash'], sha256Bytea(apiKey))
  t.notMatch(row?.['row'], apiKey.slice(-20))

  for (const name of ['می\u200cخواهم', '👩\u200d💻'])
    await t.resolves(createApiKey(name))
  for (const name of ['', 'x'.repeat(101), 'x\ny'])
    await t.rejects(createApiKey(name), { message: /must have 1 to 100/ })
  await t.rejects(revokeApiKey(connection, '404'), {
    message: /no API key 404/
  })
})

t.test(
  'an operation needs an API key with its scope, or with all',
  async (t) => {
    const headersWith = async (some: string[]) =>
      bearer(await createApiKey('scoped', { scopes: some }))

    for (const operation of operations) {
      const needed = operation['x-scopes']
      const request = requestOf(operation)
      const others = scopes.filter((one) => !needed.includes(one))
      const headers = await headersWith(others)
      const forbidden = await app.inject({ ...request, headers })
      t.equal(
        forbidden.headers['www-authenticate'],
        `Bearer realm="pet-categories", error="insufficient_scope", scope="${needed.join(' ')}"`
      )

      const allowed = await headersWith(needed)
      const response = await app.inject({ ...request, headers: allowed })
      t.not(response.statusCode, 403)
      if (operation.method !== 'GET') continue
      const head = await app.inject({ ...request, method: 'HEAD', headers })
      t.equal(head.statusCode, 403)
    }
  }
)

t.test('an expired API key is rejected', async (t) => {
  for (const [lifetime, expected] of [
    ['1h', 200],
    ['0s', 'unauthorized']
  ] as const) {
    const short = await createApiKey('short', { lifetime })
    t.equal(
      await statusOrCode(listCategories(service, bearer(short))),
      expected
    )
  }
})

t.test('another API key of a name replays its creates', async (t) => {
  const createWith = (used: string) =>
    statusOrCode(
      createCategory(service, 'x', {
        ...bearer(used),
        ...idempotencyKey('once')
      })
    )
  t.equal(await createWith(apiKey), 201)
  t.equal(await createWith(await createApiKey('test')), '201 replayed')
  t.equal(await createWith(await createApiKey('other')), 201)
})

t.test('every replica rejects a revoked API key within a second', async (t) => {
  const now = performance.now()
  let passed = 0
  t.intercept(performance, 'now', { value: () => now + passed })
  const second = await startService(t, { databaseUrl })
  const listBoth = () =>
    Promise.all(
      [service, second].map((one) =>
        statusOrCode(listCategories(one, service.auth))
      )
    )

  t.same(await listBoth(), [200, 200])
  await revokeApiKey(connection, '1')
  t.match(await listApiKeys(connection), [{ id: 1, state: 'revoked' }])
  passed = 500
  // A use does not prolong the trust.
  await listBoth()
  passed = 1000
  t.same(await listBoth(), ['unauthorized', 'unauthorized'])
})

t.test(
  'an API key has a limit in each response, and 429 beyond it',
  async (t) => {
    // An integer: the sum of fractions is not exact.
    const start = Math.floor(performance.now())
    let passed = 0
    t.intercept(performance, 'now', { value: () => start + passed })
    // A millisecond more, so that a window that ends then has ended.
    const pass = (seconds: number) => {
      passed += seconds * 1000 + 1
    }
    const limited = await startService(t, {
      databaseUrl,
      config: { MAX_REQUESTS_PER_MINUTE: 3 }
    })

    const responses = [
      await listCategories(limited),
      await createCategory(limited),
      await createCategory(limited, '')
    ]
    for (const [index, { headers }] of responses.entries()) {
      t.equal(headers['ratelimit-policy'], '"key";q=3;w=60')
      t.equal(headers['ratelimit'], `"key";r=${2 - index};t=60`)
    }

    pass(30)
    const { statusCode, headers, body } = await listCategories(limited)
    t.equal(statusCode, 429)
    t.equal(headers['ratelimit'], '"key";r=0;t=30')
    t.equal(headers['retry-after'], '30')
    t.match(body, 'retry in 30 s')
    pass(30)
    for (const status of [200, 200, 200, 429])
      t.equal((await listCategories(limited)).statusCode, status)
  }
)
