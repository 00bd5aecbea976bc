import t from 'tap'
import { parseRaw, sendRaw, startService } from '../support/service.ts'

const policy = "default-src 'none'; frame-ancestors 'none'"

t.test('every answer forbids framing and guessing of its type, and says who may keep it', async (t) => {
  const { app, auth, port } = await startService(t)
  const answers: [url: string, headers: object, cacheControl: string][] = [
    ['/v1/categories', auth, 'private, no-cache'],
    ['/v1/categories', {}, 'no-store'],
    ['/v1/nothing', auth, 'no-store'],
    ['/%zz', {}, 'no-store'],
    ['/livez', {}, 'no-store']
  ]
  for (const [url, headers, cacheControl] of answers) {
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

t.test('the docs run their own scripts, and nobody may frame them', async (t) => {
  const { app } = await startService(t)
  const { headers } = await app.inject('/docs')
  t.match(headers['content-security-policy'], "script-src 'self'")
  t.match(headers['content-security-policy'], "frame-ancestors 'none'")
  t.equal(headers['x-content-type-options'], 'nosniff')
})
