import t from 'tap'
import {
  createCategoryRequest,
  listCategoriesRequest,
  request,
  send,
  unauthenticated
} from './support/raw-http.ts'
import { startService } from './support/service.ts'

const origin = 'https://app.example'
const service = await startService(t, {
  config: { CORS_ORIGINS: `https://other.example,${origin}` }
})

t.test('a page of an allowed origin may send and read all', async (t) => {
  const allowed = { 'access-control-allow-origin': origin }
  const Origin = origin
  const preflight = { Origin, 'Access-Control-Request-Method': 'POST' }
  t.match(await send(service, request('OPTIONS /v1/pets', preflight)), {
    status: 204,
    headers: { ...allowed, 'access-control-allow-methods': '*' }
  })
  for (const [status, bytes] of [
    [200, listCategoriesRequest({ Origin })],
    [401, listCategoriesRequest({ Origin, ...unauthenticated })],
    [413, createCategoryRequest('x'.repeat(70_000), { Origin })]
  ] as const)
    t.match(await send(service, bytes), {
      status,
      headers: { ...allowed, 'access-control-expose-headers': '*' }
    })

  const other = listCategoriesRequest({ Origin: 'https://evil.example' })
  const { headers } = await send(service, other)
  t.notOk('access-control-allow-origin' in headers)
  t.match(headers, { vary: 'Origin' })
})

t.test(
  'a page may read the error of a path that no route can have',
  async (t) => {
    t.match(await send(service, request('GET /%zz', { Origin: origin })), {
      status: 400,
      headers: {
        'access-control-allow-origin': '*',
        'access-control-expose-headers': '*'
      }
    })
  }
)
