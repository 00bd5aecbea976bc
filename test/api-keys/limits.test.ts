import t, { type Test } from 'tap'
import { networkOf, rateLimiter } from '../../src/api-keys/rate-limit.ts'
import { makeKey } from '../../src/api-keys/key.ts'
import { recorder } from '../support/log.ts'
import { type Service, type ServiceOptions, startService } from '../support/service.ts'

interface Asked {
  /** The key to send; that of the service when left out. */
  key?: string
  from?: string
  headers?: Record<string, string>
}

const list = ({ app, key: own }: Service, { key = own, from = '192.0.2.1', headers = {} }: Asked = {}) =>
  app.inject({
    url: '/v1/categories',
    remoteAddress: from,
    headers: { ...(key !== '' && { authorization: `Bearer ${key}` }), ...headers }
  })

t.test(
  'every answer of an operation tells what is left of the limit of its key, and one too many is a 429',
  async (t) => {
    const service = await startService(t, { config: { RATE_LIMIT_MAX: 3 } })
    const { app, auth } = service
    const answers = [
      await list(service),
      await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name: 'x' } }),
      await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: {} }),
      await list(service)
    ]
    t.same(
      answers.map(({ statusCode }) => statusCode),
      [200, 201, 400, 429]
    )
    for (const [index, { headers }] of answers.entries()) {
      t.equal(headers['ratelimit-policy'], '"key";q=3;w=60')
      t.match(headers['ratelimit'], new RegExp(`^"key";r=${[2, 1, 0, 0][index]};t=(60|59|58)$`))
    }
    const refused = answers[3]
    t.match(refused?.headers['retry-after'], /^(60|59|58)$/)
    t.same(refused?.json(), {
      code: 'rate_limited',
      message: 'Too many requests with this API key; wait for the seconds that Retry-After gives',
      status: 429
    })
  }
)

t.test('a limit of 0 is none, and has no headers', async (t) => {
  const service = await startService(t, { config: { RATE_LIMIT_MAX: 0, AUTH_FAILURES_MAX: 0 } })
  t.equal((await list(service)).headers['ratelimit'], undefined)
  for (let count = 0; count < 100; count++) {
    const { statusCode, headers } = await list(service, { key: 'wrong' })
    t.equal(statusCode, 401)
    t.equal(headers['ratelimit'], undefined)
  }
})

/** A service that allows two refusals, and has had them from 192.0.2.1. */
async function refusedTwice(t: Test, options: ServiceOptions = {}) {
  const statements: string[] = []
  const service = await startService(t, {
    ...options,
    config: { AUTH_FAILURES_MAX: 2, ...options.config },
    onStatement: (name) => statements.push(name)
  })
  const refused = [await list(service, { key: makeKey() }), await list(service, { key: '' })]
  t.same(
    refused.map(({ statusCode }) => statusCode),
    [401, 401]
  )
  t.equal(refused[1]?.headers['ratelimit-policy'], '"refused";q=2;w=60')
  t.match(refused[1]?.headers['ratelimit'], /^"refused";r=0;t=/)
  statements.length = 0
  return { service, statements }
}

const isRefused = async (t: Test, answer: ReturnType<typeof list>) => {
  const { statusCode, headers, json } = await answer
  t.equal(statusCode, 429)
  t.match(headers['retry-after'], /^\d+$/)
  t.match(headers['ratelimit'], /^"refused";r=0;t=/)
  t.same(json(), {
    code: 'rate_limited',
    message: 'Too many requests without a valid API key from this address; wait for the seconds that Retry-After gives',
    status: 429
  })
}

t.test('past the limit of an address a key that is not known is refused without a query', async (t) => {
  const { service, statements } = await refusedTwice(t)
  await isRefused(t, list(service, { key: makeKey() }))
  await isRefused(t, list(service, { key: 'x' }))
  await isRefused(t, list(service, { key: '' }))
  await isRefused(t, list(service))
  t.same(statements, [])
  t.equal((await list(service, { key: makeKey(), from: '192.0.2.2' })).statusCode, 401)
})

t.test('a key that was valid before is never refused for its address, whenever it was used last', async (t) => {
  const service = await startService(t, { config: { AUTH_FAILURES_MAX: 1 } })
  t.equal((await list(service)).statusCode, 200)
  t.equal((await list(service, { key: '' })).statusCode, 401)
  await isRefused(t, list(service, { key: '' }))
  t.equal((await list(service)).statusCode, 200)
  // No longer trusted without a query.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  t.equal((await list(service)).statusCode, 200)
})

t.test('the addresses of an IPv6 network count as one', async (t) => {
  const service = await startService(t, { config: { AUTH_FAILURES_MAX: 1 } })
  t.equal((await list(service, { key: '', from: '2001:db8::1' })).statusCode, 401)
  await isRefused(t, list(service, { key: '', from: '2001:db8::2' }))
  t.equal((await list(service, { key: '', from: '2001:db8:0:1::1' })).statusCode, 401)
})

t.test('X-Forwarded-For is believed as far as TRUST_PROXY allows', async (t) => {
  const by = (value: string) => ({ key: '', headers: { 'x-forwarded-for': value } })
  const statuses = async (config: ServiceOptions['config'], ...values: string[]) => {
    const service = await startService(t, { config: { AUTH_FAILURES_MAX: 1, ...config } })
    const answers: number[] = []
    for (const value of values) answers.push((await list(service, by(value))).statusCode)
    return answers
  }
  t.same(await statuses({}, '198.51.100.1', '198.51.100.2'), [401, 429])
  t.same(await statuses({ TRUST_PROXY: '1' }, '198.51.100.1', '198.51.100.2'), [401, 401])
  t.same(await statuses({ TRUST_PROXY: '1' }, '203.0.113.1, 198.51.100.1', '203.0.113.2, 198.51.100.1'), [401, 429])
  t.same(await statuses({ TRUST_PROXY: '192.0.2.0/24' }, '198.51.100.1', '198.51.100.2'), [401, 401])
  t.same(await statuses({ TRUST_PROXY: '1' }, 'unknown', '198.51.100.2:80'), [401, 401])
  t.same(await statuses({ TRUST_PROXY: '10.0.0.0/8' }, '198.51.100.1', '198.51.100.2'), [401, 429])
})

t.test(
  'the log has a line with the reason for each refused request, and one for all those past the limit',
  async (t) => {
    const { lines, logger } = recorder()
    const service = await startService(t, { logger, config: { AUTH_FAILURES_MAX: 3 } })
    const unknown = makeKey()
    lines.length = 0
    await list(service)
    await list(service, { key: '' })
    await list(service, { key: 'x' })
    await list(service, { key: unknown })
    for (let count = 0; count < 20; count++) await list(service, { key: unknown })
    await service.app.close()
    t.match(
      lines.map(({ status, rejected, key, count, ip }) => ({ status, rejected, key, count, ip })),
      [
        { status: 200, rejected: undefined, key: '1' },
        { status: 401, rejected: 'absent' },
        { status: 401, rejected: 'malformed' },
        { status: 401, rejected: 'unknown' },
        { count: 20, ip: '192.0.2.1' }
      ]
    )
    t.notMatch(JSON.stringify(lines), unknown.slice(7))
  }
)

t.test('a window ends a minute after its first request, and the oldest is forgotten when there are too many', (t) => {
  let now = 0
  const limiter = rateLimiter<string>({ name: 'x', max: 1, message: 'wait', maxWindows: 2, now: () => now })
  const isFree = (of: string) => {
    try {
      limiter.check(of)
      return true
    } catch {
      return false
    }
  }
  t.same(limiter.count('a'), { 'ratelimit-policy': '"x";q=1;w=60', ratelimit: '"x";r=0;t=60' })
  now = 59_999
  t.notOk(isFree('a'))
  now = 60_000
  t.ok(isFree('a'))
  limiter.count('a')
  limiter.count('b')
  t.notOk(isFree('a'))
  limiter.count('c')
  t.ok(isFree('a'))
  t.end()
})

t.test('an IPv4 address counts for itself, however it is written, and an IPv6 one with its /64', (t) => {
  t.equal(networkOf('::ffff:192.0.2.1'), networkOf('192.0.2.1'))
  t.equal(networkOf('2001:db8::1'), networkOf('2001:0DB8:0:0:ffff::2'))
  t.not(networkOf('2001:db8::1'), networkOf('2001:db8:0:1::1'))
  t.equal(networkOf('unknown'), 'unknown')
  t.end()
})
