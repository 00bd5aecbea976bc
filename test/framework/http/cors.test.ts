import type { InjectOptions } from 'fastify'
import t from 'tap'
import { startNotes } from '../../support/notes.ts'

const origin = 'https://app.example'
const { app, auth } = await startNotes(t, {
  config: { CORS_ORIGINS: `https://other.example,${origin}` }
})
const send = (
  headers: Record<string, string>,
  method: NonNullable<InjectOptions['method']> = 'GET'
) => app.inject({ method, url: '/v1/notes', headers })
const preflight = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization'
}
const allowed = { 'access-control-allow-origin': origin }

t.test(
  'a page of an allowed origin may call every operation and read all headers',
  async (t) => {
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

    const exposed = {
      'access-control-expose-headers': '*',
      vary: 'Authorization, Accept-Encoding, Origin'
    }
    t.match(await send({ origin, ...auth }), {
      statusCode: 200,
      headers: { ...allowed, ...exposed }
    })
    t.match(
      await send({ origin }),
      { statusCode: 401, headers: allowed },
      'a page can read why'
    )
  }
)

t.test(
  'a page of an origin that is not allowed cannot call the service',
  async (t) => {
    const other = { ...auth, origin: 'https://evil.example' }
    for (const { headers } of [
      await send(other),
      await send({ ...other, ...preflight }, 'OPTIONS')
    ])
      t.equal(headers['access-control-allow-origin'], undefined)
  }
)

t.test(
  'an OPTIONS request that is not a preflight gets the 404 or 405 of the service',
  async (t) => {
    t.equal((await send({}, 'OPTIONS')).statusCode, 204)
    t.equal((await app.inject('/nothing')).statusCode, 404)
    t.equal((await send({}, 'PUT')).headers.allow, 'GET, HEAD, POST')
  }
)
