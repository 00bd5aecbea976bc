import t from 'tap'
import { makeKey, realm, startNotes } from '../../support/notes.ts'

const { app, key, keys } = await startNotes(t)

/** The response to a list with this Authorization, or with none. */
const listWith = (authorization?: string) =>
  app.inject({
    url: '/v1/notes',
    headers: { ...(authorization !== undefined && { authorization }) }
  })

const challenge = `Bearer realm="${realm}"`

t.test('the scheme is Bearer, in any case', async (t) => {
  t.equal((await listWith(`bearer ${key}`)).statusCode, 200)
  for (const authorization of [undefined, `Basic ${key}`, 'Bearer', key]) {
    const response = await listWith(authorization)
    t.same(response.json(), {
      code: 'unauthorized',
      message:
        'An API key is required: send the header "Authorization: Bearer <API_KEY>"',
      status: 401
    })
    t.equal(response.headers['www-authenticate'], challenge)
  }
})

t.test('an invalid token gets a challenge with invalid_token', async (t) => {
  const expired = await keys.create('expired', { lifetime: '0s' })
  const revoked = await keys.create('revoked')
  await keys.revoke('3')
  const valid = await keys.create('valid')

  // One statement looks several keys up.
  const tokens = [expired, revoked, makeKey(), 'x', valid]
  const responses = await Promise.all(
    tokens.map((token) => listWith(`Bearer ${token}`))
  )
  t.equal(responses.pop()?.statusCode, 200)
  for (const response of responses) {
    t.same(response.json(), {
      code: 'unauthorized',
      message: 'The API key is not valid',
      status: 401
    })
    const invalid = `${challenge}, error="invalid_token"`
    t.equal(response.headers['www-authenticate'], invalid)
  }
})
