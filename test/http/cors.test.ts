import t from 'tap'
import { startService } from '../support/service.ts'

const origin = 'https://app.example'
const config = { CORS_ORIGINS: `https://other.example,${origin}` }
const { app, auth } = await startService(t, { config })
const preflight = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }

t.test('a page of an allowed origin may call every operation and read the documented headers', async (t) => {
  const { statusCode, headers, body } = await app.inject({
    method: 'OPTIONS',
    url: '/v1/categories',
    headers: preflight
  })
  t.equal(statusCode, 204)
  t.equal(body, '')
  t.match(headers, {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'authorization',
    vary: 'Origin, Access-Control-Request-Headers'
  })
  const list = await app.inject({ url: '/v1/categories', headers: { ...auth, origin } })
  t.equal(list.statusCode, 200)
  t.equal(list.headers['access-control-allow-origin'], origin)
  t.match(list.headers['access-control-expose-headers'], /ETag.*Retry-After/)
  t.equal(list.headers.vary, 'Authorization, Accept-Encoding, Origin')
  const rejected = await app.inject({ url: '/v1/categories', headers: { origin } })
  t.equal(rejected.statusCode, 401)
  t.equal(rejected.headers['access-control-allow-origin'], origin, 'a page can read why')
})

t.test('a page of another origin may not', async (t) => {
  const origin = 'https://evil.example'
  for (const request of [
    { method: 'OPTIONS' as const, headers: { ...preflight, origin } },
    { method: 'GET' as const, headers: { ...auth, origin } }
  ]) {
    const { headers } = await app.inject({ url: '/v1/categories', ...request })
    t.equal(headers['access-control-allow-origin'], undefined)
  }
})

t.test('OPTIONS gets a 405 if it is no preflight or no origin is allowed', async (t) => {
  const none = await startService(t)
  for (const [service, headers] of [
    [app, {}],
    [app, { origin }],
    [none.app, preflight]
  ] as const) {
    const { statusCode, headers: received } = await service.inject({
      method: 'OPTIONS',
      url: '/v1/categories',
      headers
    })
    t.equal(statusCode, 405)
    t.equal(received.allow, 'GET, HEAD, POST')
    t.equal(received['access-control-allow-origin'], undefined)
  }
  t.equal((await app.inject({ method: 'OPTIONS', url: '/nothing' })).statusCode, 404)
  t.equal((await app.inject('/nothing')).statusCode, 404)
})
