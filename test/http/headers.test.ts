import t from 'tap'
import { parseRaw, sendRaw, startService } from '../support/service.ts'

const { app, auth, port } = await startService(t)
const policy = "default-src 'none'; frame-ancestors 'none'"

t.test('every response forbids framing and sniffing, and says who may cache it', async (t) => {
  const responses: [url: string, headers: object, cacheControl: string][] = [
    ['/v1/categories', auth, 'private, no-cache'],
    ['/v1/categories', {}, 'no-store'],
    ['/v1/nothing', auth, 'no-store'],
    ['/%zz', {}, 'no-store'],
    ['/livez', {}, 'no-store']
  ]
  for (const [url, headers, cacheControl] of responses) {
    t.match((await app.inject({ url, headers: { ...headers } })).headers, {
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'cache-control': cacheControl,
      'strict-transport-security': undefined
    })
  }
  const create = { method: 'POST', url: '/v1/categories', headers: auth, payload: { name: 'x' } } as const
  t.equal((await app.inject(create)).headers['cache-control'], 'no-store')
  t.match(parseRaw(await sendRaw(port, 'nonsense\r\n\r\n')).headers, {
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store'
  })
})

t.test('the docs page allows only its own scripts, and no framing', async (t) => {
  const { headers } = await app.inject('/docs')
  t.match(headers['content-security-policy'], "script-src 'self'")
  t.match(headers['content-security-policy'], "frame-ancestors 'none'")
  t.equal(headers['x-content-type-options'], 'nosniff')
})
