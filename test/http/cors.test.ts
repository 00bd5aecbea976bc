import t from 'tap'
import { startService } from '../support/service.ts'

const origin = 'https://app.example'
const { app, auth } = await startService(t, { config: { CORS_ORIGINS: `https://other.example,${origin}` } })
const url = '/v1/categories'
const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }

t.test('a page of an allowed origin may call every operation and read all headers', async (t) => {
  const { statusCode, headers, body } = await app.inject({ method: 'OPTIONS', url, headers: { origin, ...preflight } })
  t.same([statusCode, body], [204, ''])
  t.match(headers, {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': '*',
    'access-control-allow-headers': 'authorization',
    'access-control-max-age': '7200',
    vary: 'Origin, Access-Control-Request-Headers'
  })
  const list = await app.inject({ url, headers: { ...auth, origin } })
  t.match(list.headers, {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': '*',
    vary: 'Authorization, Accept-Encoding, Origin'
  })
  const rejected = await app.inject({ url, headers: { origin } })
  t.equal(rejected.statusCode, 401)
  t.equal(rejected.headers['access-control-allow-origin'], origin, 'a page can read why')
})

t.test('a page of another origin may not', async (t) => {
  const other = { ...auth, origin: 'https://evil.example' }
  for (const request of [{ method: 'OPTIONS' as const, headers: { ...preflight, ...other } }, { headers: other }]) {
    t.equal((await app.inject({ url, ...request })).headers['access-control-allow-origin'], undefined)
  }
})

t.test('what is no preflight gets no error of the plugin, and a 404 or 405 as without CORS', async (t) => {
  t.equal((await app.inject({ method: 'OPTIONS', url })).statusCode, 204)
  t.equal((await app.inject('/nothing')).statusCode, 404)
  t.equal((await app.inject({ method: 'PUT', url })).headers.allow, 'GET, HEAD, POST')
})
