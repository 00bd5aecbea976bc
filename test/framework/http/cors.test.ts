import t from 'tap'
import { startNotes } from '../../support/notes.ts'

const origin = 'https://app.example'
const { app, auth } = await startNotes(t, {
  config: { CORS_ORIGINS: `https://other.example,${origin}` }
})
const allowed = { 'access-control-allow-origin': origin }

t.test('a page of an allowed origin may send and read all', async (t) => {
  const url = '/v1/notes'
  const headers = { origin, 'access-control-request-method': 'POST' }
  t.match(await app.inject({ method: 'OPTIONS', url, headers }), {
    statusCode: 204,
    headers: {
      ...allowed,
      'access-control-allow-methods': '*'
    }
  })
  const rejected = await app.inject({ url, headers: { origin } })
  t.match(rejected, { statusCode: 401, headers: allowed })
  t.match((await app.inject({ url, headers: { origin, ...auth } })).headers, {
    'access-control-expose-headers': '*',
    vary: 'Authorization, Accept-Encoding, Origin'
  })

  const other = { ...auth, origin: 'https://evil.example' }
  const ofOther = await app.inject({ url, headers: other })
  t.equal(ofOther.headers['access-control-allow-origin'], undefined)
})
