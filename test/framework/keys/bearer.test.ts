import t from 'tap'
import { startNotes, realm, makeKey } from '../../support/notes.ts'

const { app, key, keys } = await startNotes(t)

const listWith = (headers: Record<string, string>) =>
  app.inject({ url: '/v1/notes', headers })

const keyRequired = {
  code: 'unauthorized',
  message:
    'An API key is required: send the header "Authorization: Bearer <API_KEY>"',
  status: 401
}
const keyInvalid = {
  code: 'unauthorized',
  message: 'The API key is not valid',
  status: 401
}
const challenge = `Bearer realm="${realm}"`

t.test('the scheme may be in any case', async (t) => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const { statusCode } = await listWith({ authorization: `${scheme} ${key}` })
    t.equal(statusCode, 200, scheme)
  }
})

t.test('no header: a challenge without an error code', async (t) => {
  const response = await listWith({})
  t.same(response.json(), keyRequired)
  t.equal(response.headers['www-authenticate'], challenge)
})

t.test('another scheme or no token: the same challenge', async (t) => {
  for (const authorization of [`Basic ${key}`, 'Bearer', key]) {
    const response = await listWith({ authorization })
    t.same(response.json(), keyRequired, authorization)
    t.equal(response.headers['www-authenticate'], challenge)
  }
})

t.test('an invalid token: a challenge with invalid_token', async (t) => {
  const expired = await keys.create('expired', { lifetime: '0s' })
  const revoked = await keys.create('revoked')
  const [, , { id } = {}] = await keys.list()
  await keys.revoke(String(id))

  const tokens = { expired, revoked, unknown: makeKey(), malformed: 'x' }
  for (const [why, token] of Object.entries(tokens)) {
    const response = await listWith({ authorization: `Bearer ${token}` })
    t.same(response.json(), keyInvalid, why)
    t.equal(
      response.headers['www-authenticate'],
      `${challenge}, error="invalid_token"`
    )
  }
})

t.test('only a valid key can be revoked', async (t) => {
  for (const id of ['3', '99', 'x']) {
    await t.rejects(keys.revoke(id), {
      message: `Key ${id} is not valid; see: keys list`
    })
  }
})
