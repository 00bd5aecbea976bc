import type { InjectOptions } from 'fastify'
import t from 'tap'
import { startNotes } from '../../support/notes.ts'

const origin = 'https://app.example'
const { app, auth } = await startNotes(t, {
  config: { CORS_ORIGINS: `https://other.example,${origin}` }
})
const send = (headers: object, method: InjectOptions['method'] = 'GET') =>
  app.inject({ method, url: '/v1/notes', headers: { ...headers } })

const preflight = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization'
}
const allowed = { 'access-control-allow-origin': origin }

t.test('a page of an allowed origin may send and read all', async (t) => {
  t.match(await send({ origin, ...preflight }, 'OPTIONS'), {
    statusCode: 204,
    body: '',
    headers: {
      ...allowed,
      'access-control-allow-methods': '*',
      'access-control-allow-headers': 'authorization',
      'access-control-max-age': '7200',
      vary: 'Origin, Access-Control-Request-Headers'
    }
  })
  t.match(await send({ origin, ...auth }), {
    statusCode: 200,
    headers: {
      ...allowed,
      'access-control-expose-headers': '*',
      vary: 'Authorization, Accept-Encoding, Origin'
    }
  })
  t.match(await send({ origin }), { statusCode: 401, headers: allowed })
})

t.test('a page of another origin may not', async (t) => {
  const other = { ...auth, origin: 'https://evil.example' }
  for (const { headers } of [
    await send(other),
    await send({ ...other, ...preflight }, 'OPTIONS')
  ])
    t.equal(headers['access-control-allow-origin'], undefined)
})
