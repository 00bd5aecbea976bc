import t, { type Test } from 'tap'
import { RateLimiter } from '../../../src/framework/keys/rate-limit.ts'
import type { Config } from '../../../src/framework/config.ts'
import { silent } from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'
import { startNotes, makeKey } from '../../support/notes.ts'

interface ListOptions {
  /** The service's valid key if left out, no Authorization if empty. */
  apiKey?: string
  address?: string
  forwardedFor?: string
}

/** Starts a service, with a clock that tests can advance. */
async function start(t: Test, config: Partial<Config>, log = silent) {
  const now = performance.now.bind(performance)
  let passed = 0
  t.intercept(performance, 'now', { value: () => now() + passed })

  const statements: string[] = []
  const onStatement = (name: string) => statements.push(name)
  const service = await startNotes(t, { config, log, onStatement })

  /** Lists the notes, and checks the status. */
  async function listFrom(status: number, options: ListOptions = {}) {
    const { apiKey = service.key, address = '192.0.2.1' } = options
    const headers: Record<string, string> = {}
    if (apiKey !== '') headers['authorization'] = `Bearer ${apiKey}`
    if (options.forwardedFor !== undefined)
      headers['x-forwarded-for'] = options.forwardedFor

    const response = await service.app.inject({
      url: '/v1/notes',
      remoteAddress: address,
      headers
    })
    t.equal(response.statusCode, status)

    return response
  }

  const pass = (milliseconds: number) => {
    passed += milliseconds
  }

  return { ...service, statements, listFrom, pass }
}

t.test(
  'a key has a limit in each response, and gets 429 beyond it',
  async (t) => {
    const service = await start(t, { MAX_REQUESTS_PER_MINUTE: 3 })
    const create = (payload: object) =>
      service.app.inject({
        method: 'POST',
        url: '/v1/notes',
        headers: service.auth,
        payload
      })
    const listed = await service.listFrom(200)
    const created = await create({ name: 'x' })
    const invalid = await create({})
    const tooManyRequests = await service.listFrom(429)

    for (const { response, left } of [
      { response: listed, left: 2 },
      { response: created, left: 1 },
      { response: invalid, left: 0 },
      { response: tooManyRequests, left: 0 }
    ]) {
      const { headers } = response
      t.equal(headers['ratelimit-policy'], '"key";q=3;w=60')
      t.match(headers['ratelimit'], new RegExp(`^"key";r=${left};t=\\d+$`))
    }
  }
)

t.test('a 429 says when to retry, in its header and message', async (t) => {
  const { listFrom, pass } = await start(t, { MAX_REQUESTS_PER_MINUTE: 1 })
  await listFrom(200)
  pass(30_000)
  const { headers, body } = await listFrom(429)
  const seconds = Number(headers['retry-after'])
  t.ok(seconds > 20 && seconds <= 30)
  t.match(
    body,
    `"Too many requests with this API key: retry in ${seconds} seconds"`
  )

  pass(seconds * 1000 - 1000)
  const last = await listFrom(429)
  t.equal(last.headers['retry-after'], '1')
  t.match(last.body, 'retry in 1 second"')
  pass(1000)
  await listFrom(200)
})

t.test('0 disables the limits and their headers', async (t) => {
  const { listFrom } = await start(t, {
    MAX_REQUESTS_PER_MINUTE: 0,
    MAX_REJECTED_KEYS_PER_MINUTE: 0
  })
  t.equal((await listFrom(200)).headers['ratelimit'], undefined)
  for (let count = 0; count < 100; count++) {
    const { headers } = await listFrom(401, { apiKey: 'x' })
    t.equal(headers['ratelimit'], undefined)
  }
})

t.test(
  'missing and malformed keys of an address over its limit get 429 without a query',
  async (t) => {
    const { listFrom, statements, pass } = await start(t, {
      MAX_REJECTED_KEYS_PER_MINUTE: 2
    })
    await listFrom(401, { apiKey: makeKey() })
    const { headers } = await listFrom(401, { apiKey: '' })
    t.match(headers, {
      'ratelimit-policy': '"rejected";q=2;w=60',
      ratelimit: /^"rejected";r=0;t=\d+$/
    })

    statements.length = 0
    for (const apiKey of ['x', '']) {
      const tooManyRequests = await listFrom(429, { apiKey })
      t.match(tooManyRequests.headers['retry-after'], /^\d+$/)
      t.match(
        tooManyRequests.body,
        'without a valid API key from this address: retry in'
      )
    }
    t.same(statements, [])

    await listFrom(401, { apiKey: 'x', address: '192.0.2.2' })
    pass(60_000)
    await listFrom(401, { apiKey: '' })
  }
)

t.test(
  'valid keys work from an address over its limit, and others get 429',
  async (t) => {
    const { listFrom, keys, statements, pass } = await start(t, {
      MAX_REJECTED_KEYS_PER_MINUTE: 2
    })
    await listFrom(401, { apiKey: 'x' })
    await listFrom(401, { apiKey: makeKey() })
    await listFrom(200)
    await listFrom(200, { apiKey: await keys.create('new') })

    const [{ id } = {}] = await keys.list()
    await keys.revoke(String(id))
    pass(1000)
    await listFrom(429)

    statements.length = 0
    await listFrom(429, { apiKey: makeKey() })
    t.same(statements, ['find-api-keys'])
  }
)

interface Clients {
  why: string
  /** The values of X-Forwarded-For. */
  first: string
  second: string
  /** Whether both count as one client. */
  isSame: boolean
}

interface Deployment {
  TRUST_PROXY?: string
  clients: Clients[]
}

const deployments: Deployment[] = [
  {
    clients: [
      {
        why: 'no proxy is trusted',
        first: '198.51.100.1',
        second: '198.51.100.2',
        isSame: true
      }
    ]
  },
  {
    TRUST_PROXY: '10.0.0.0/8',
    clients: [
      {
        why: 'the proxy is not in the trusted network',
        first: '198.51.100.1',
        second: '198.51.100.2',
        isSame: true
      }
    ]
  },
  {
    TRUST_PROXY: '192.0.2.0/24',
    clients: [
      {
        why: 'the proxy is in the trusted network',
        first: '198.51.100.1',
        second: '198.51.100.2',
        isSame: false
      }
    ]
  },
  {
    TRUST_PROXY: '2',
    clients: [
      {
        why: 'the second hop counts',
        first: '198.51.100.1, 203.0.113.1',
        second: '198.51.100.2, 203.0.113.1',
        isSame: false
      }
    ]
  },
  {
    TRUST_PROXY: '1',
    clients: [
      {
        why: 'the first hop counts',
        first: '198.51.100.1',
        second: '198.51.100.2',
        isSame: false
      },
      {
        why: 'a client may invent the addresses before it',
        first: '203.0.113.1, 198.51.100.3',
        second: '203.0.113.2, 198.51.100.3',
        isSame: true
      },
      {
        why: 'an IPv4 address is the same when mapped to IPv6',
        first: '::ffff:198.51.100.4',
        second: '198.51.100.4',
        isSame: true
      },
      {
        why: 'the IPv6 addresses of one /64 are one client',
        first: '2001:db8::1',
        second: '2001:0DB8:0:0:ffff::2',
        isSame: true
      },
      {
        why: 'the IPv6 addresses of two /64 are two clients',
        first: '2001:db8:1::1',
        second: '2001:db8:1:1::1',
        isSame: false
      },
      {
        why: 'a proxy may append the port',
        first: '192.0.2.2:40001',
        second: '192.0.2.2:40002',
        isSame: true
      },
      {
        why: 'a proxy may put IPv6 in brackets',
        first: '[2001:db8:5::1]:40001',
        second: '2001:db8:5::2',
        isSame: true
      },
      {
        why: 'text that is not an address counts unchanged',
        first: 'unknown',
        second: '198.51.100.x',
        isSame: false
      }
    ]
  }
]

t.test('TRUST_PROXY decides whose address counts', async (t) => {
  for (const { clients, ...proxy } of deployments) {
    const config = { MAX_REJECTED_KEYS_PER_MINUTE: 1, ...proxy }
    const { listFrom } = await start(t, config)
    for (const { why, first, second, isSame } of clients) {
      t.comment(why)
      await listFrom(401, { apiKey: '', forwardedFor: first })
      const status = isSame ? 429 : 401
      await listFrom(status, { apiKey: '', forwardedFor: second })
    }
  }
})

t.test(
  'the log has each rejected request, but one line a minute over the limit',
  async (t) => {
    const { lines, log } = recorder()
    const config = { MAX_REJECTED_KEYS_PER_MINUTE: 4 }
    const { listFrom, app, pass } = await start(t, config, log)
    const unknown = makeKey()
    const lastDigit = unknown.endsWith('0') ? '1' : '0'
    const mistyped = unknown.slice(0, -1) + lastDigit

    lines.length = 0
    await listFrom(200)
    for (const apiKey of ['', 'x', mistyped, unknown])
      await listFrom(401, { apiKey })
    for (let count = 0; count < 20; count++)
      await listFrom(429, { apiKey: unknown })
    pass(60_000)
    for (let count = 0; count < 4; count++) await listFrom(401, { apiKey: '' })
    for (let count = 0; count < 20; count++) await listFrom(429, { apiKey: '' })
    await app.close()

    const reports = lines.filter(({ msg }) => msg !== 'request')
    const report = { level: 40, network: '192.0.2.1' }
    t.match(reports, [report, report])
    t.equal(reports.length, 2)

    const logged = lines
      .filter(({ msg }) => msg === 'request')
      .slice(0, 5)
      .map(({ status, key, rejected }) => ({ status, key, rejected }))
    t.same(logged, [
      { status: 200, key: '1', rejected: undefined },
      { status: 401, key: undefined, rejected: 'absent' },
      { status: 401, key: undefined, rejected: 'malformed' },
      { status: 401, key: undefined, rejected: 'malformed' },
      { status: 401, key: undefined, rejected: 'unknown' }
    ])
    t.notMatch(JSON.stringify(lines), unknown.slice(7))
  }
)

t.test('the log names a key over its limit once a minute', async (t) => {
  const { lines, log } = recorder()
  const config = { MAX_REQUESTS_PER_MINUTE: 1 }
  const { listFrom, app, pass } = await start(t, config, log)

  for (const status of [200, 429, 429]) await listFrom(status)
  pass(60_000)
  for (const status of [200, 429, 429]) await listFrom(status)
  await app.close()

  const reports = lines.filter(
    ({ msg }) => msg === 'a key exceeds its rate limit'
  )
  t.same(
    reports.map(({ key }) => key),
    ['1', '1']
  )
})

t.test(
  'beyond 10,000 addresses, the one whose window began first is forgotten',
  (t) => {
    const limiter = new RateLimiter({
      policy: 'x',
      maxPerMinute: 1,
      requestDescription: 'here',
      report() {}
    })

    const count = (address: string) =>
      limiter.count(address, { header: () => {} })
    count('first')
    for (let other = 1; other < 10_000; other++) count(`other ${other}`)
    t.ok(count('first'), 'over its limit')

    count('one more')
    t.notOk(count('first'), 'it is new again')
    t.end()
  }
)
