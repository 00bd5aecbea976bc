import t, { type Test } from 'tap'
import { makeKey } from '../../src/api-keys/key.ts'
import { rateLimiter } from '../../src/api-keys/rate-limit.ts'
import type { Config } from '../../src/config.ts'
import { silent } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { post } from '../support/process.ts'
import { startService } from '../support/service.ts'

/** Starts a service. `list` sends a request and checks its status; `pass` lets milliseconds pass. */
async function start(t: Test, config: Partial<Config>, logger = silent) {
  const now = performance.now.bind(performance)
  let passed = 0
  t.intercept(performance, 'now', { value: () => now() + passed })
  const statements: string[] = []
  const service = await startService(t, {
    config,
    logger,
    onStatement: (name) => statements.push(name)
  })
  const list = async (
    status: number,
    key = service.key,
    remoteAddress = '192.0.2.1',
    forwarded = ''
  ) => {
    const authorization = key === '' ? {} : { authorization: `Bearer ${key}` }
    const headers = {
      ...authorization,
      ...(forwarded && { 'x-forwarded-for': forwarded })
    }
    const response = await service.app.inject({
      url: '/v1/categories',
      remoteAddress,
      headers
    })
    t.equal(response.statusCode, status)
    return response.headers
  }
  return {
    ...service,
    statements,
    list,
    pass: (milliseconds: number) => (passed += milliseconds)
  }
}

t.test(
  'every response of an operation has the limit of its key, and a request over it gets 429',
  async (t) => {
    const { url, key, list } = await start(t, { MAX_REQUESTS_PER_MINUTE: 3 })
    const create = async (name: string) =>
      Object.fromEntries((await post(url, key, name)).headers)
    const responses = [
      await list(200),
      await create('x'),
      await create(''),
      await list(429)
    ]
    for (const [index, headers] of responses.entries()) {
      t.equal(headers['ratelimit-policy'], '"key";q=3;w=60')
      t.match(
        headers['ratelimit'],
        new RegExp(`^"key";r=${[2, 1, 0, 0][index]};t=\\d+$`)
      )
    }
    t.match(responses[3]?.['retry-after'], /^\d+$/)
  }
)

t.test('0 disables the limits and their headers', async (t) => {
  const { list } = await start(t, {
    MAX_REQUESTS_PER_MINUTE: 0,
    MAX_REJECTED_KEYS_PER_MINUTE: 0
  })
  t.equal((await list(200))['ratelimit'], undefined)
  for (let count = 0; count < 100; count++)
    t.equal((await list(401, 'x'))['ratelimit'], undefined)
})

t.test(
  'over the limit of its address, only a key that was valid before is accepted, and others cause no query',
  async (t) => {
    const { list, statements, pass } = await start(t, {
      MAX_REJECTED_KEYS_PER_MINUTE: 2
    })
    await list(200)
    await list(401, makeKey())
    t.match(await list(401, ''), {
      'ratelimit-policy': '"rejected";q=2;w=60',
      ratelimit: /^"rejected";r=0;t=\d+$/
    })
    statements.length = 0
    for (const key of [makeKey(), 'x', ''])
      t.match((await list(429, key))['retry-after'], /^\d+$/)
    t.same(statements, [])
    await list(401, makeKey(), '192.0.2.2')
    await list(200)
    pass(2000)
    await list(200)
    await list(429, '')
    pass(60_000)
    await list(401, '')
  }
)

t.test(
  'TRUST_PROXY decides whose address counts: an IPv4 address, or an IPv6 network',
  async (t) => {
    type Case = [first: string, second: string, status: number]
    const cases: [proxy: string | undefined, ...Case[]][] = [
      [undefined, ['198.51.100.1', '198.51.100.2', 429]],
      ['10.0.0.0/8', ['198.51.100.1', '198.51.100.2', 429]],
      ['192.0.2.0/24', ['198.51.100.1', '198.51.100.2', 401]],
      ['2', ['198.51.100.1, 203.0.113.1', '198.51.100.2, 203.0.113.1', 401]],
      [
        '1',
        ['198.51.100.1', '198.51.100.2', 401],
        ['203.0.113.1, 198.51.100.3', '203.0.113.2, 198.51.100.3', 429],
        ['::ffff:198.51.100.4', '198.51.100.4', 429],
        ['2001:db8::1', '2001:0DB8:0:0:ffff::2', 429],
        ['2001:db8:1::1', '2001:db8:1:1::1', 401],
        ['unknown', '198.51.100.5:80', 401]
      ]
    ]
    for (const [proxy, ...addresses] of cases) {
      const { list } = await start(t, {
        MAX_REJECTED_KEYS_PER_MINUTE: 1,
        ...(proxy !== undefined && { TRUST_PROXY: proxy })
      })
      for (const [first, second, status] of addresses) {
        await list(401, '', '192.0.2.1', first)
        await list(status, '', '192.0.2.1', second)
      }
    }
  }
)

t.test(
  'the log has the reason for each rejected request, but no line for those over the limit',
  async (t) => {
    const { lines, logger } = recorder()
    const { list, app } = await start(
      t,
      { MAX_REJECTED_KEYS_PER_MINUTE: 4 },
      logger
    )
    const unknown = makeKey()
    const mistyped = unknown.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    lines.length = 0
    await list(200)
    for (const key of ['', 'x', mistyped, unknown]) await list(401, key)
    for (let count = 0; count < 20; count++) await list(429, unknown)
    await app.close()
    const logged = lines.map(
      ({ status, key, rejected }) =>
        `${String(status)} ${String(key ?? rejected)}`
    )
    t.same(logged, [
      '200 1',
      '401 absent',
      '401 malformed',
      '401 malformed',
      '401 unknown'
    ])
    t.notMatch(JSON.stringify(lines), unknown.slice(7))
  }
)

t.test(
  'beyond 10,000 addresses, the one whose window began first is forgotten',
  (t) => {
    const limiter = rateLimiter('x', 1, 'here')
    limiter.count('first', { header: () => {} })
    for (let address = 0; address < 9_999; address++) limiter.isReached(address)
    t.ok(limiter.isReached('first'))
    limiter.isReached('one more')
    t.notOk(limiter.isReached('first'))
    t.end()
  }
)
