import t from 'tap'
import { readApiDocument } from '../../../src/framework/openapi/document.ts'
import { bearer } from '../../support/requests.ts'
import { query } from '../../support/database.ts'
import { createNote, notes, realm, startNotes } from '../../support/notes.ts'
import { until } from '../../support/until.ts'

const { basePath, operations, scopes } = readApiDocument(notes.openapiFile)

t.test('an operation needs a key with its scope, or with all', async (t) => {
  const { app, keys } = await startNotes(t)
  for (const { method, path, scopes: needed } of operations) {
    const url = basePath + path.replace(/\{\w+\}/g, '1')
    const sendWith = async (some: string[]) => {
      const headers = bearer(await keys.create('scoped', { scopes: some }))
      if (method === 'GET') {
        const head = await app.inject({ method: 'HEAD', url, headers })
        t.equal(head.statusCode === 403, some !== needed)
      }
      return app.inject({ method, url, headers })
    }

    const forbidden = await sendWith(
      scopes.filter((one) => !needed.includes(one))
    )
    const scope = needed.join(' ')
    const challenge = `Bearer realm="${realm}", error="insufficient_scope", scope="${scope}"`
    t.equal(forbidden.headers['www-authenticate'], challenge)
    t.same(forbidden.json(), {
      code: 'insufficient_scope',
      message: `The API key lacks the scope of this operation: ${scope}`,
      status: 403
    })
    t.not((await sendWith(needed)).statusCode, 403)
  }
})

t.test('the first check that fails is the response', async (t) => {
  const config = { MAX_REQUESTS_PER_MINUTE: 3 }
  const { app, keys } = await startNotes(t, { config })
  const scoped = await keys.create('scoped', { scopes: ['remarks:read'] })
  const statusOf = async (url: string, payload: string, apiKey = scoped) => {
    const headers = bearer(apiKey)
    return (await app.inject({ method: 'POST', url, headers, payload }))
      .statusCode
  }

  t.equal(await statusOf('/v1/nothing', ''), 404)
  t.equal(await statusOf('/v1/notes/1', ''), 405)
  t.equal(await statusOf('/v1/notes', '', 'x'), 401)
  for (const payload of ['no JSON', '{}', 'x'.repeat(70_000)])
    t.equal(await statusOf('/v1/notes', payload), 403)
  t.equal(await statusOf('/v1/notes', '{}'), 429, 'a 403 counts')
})

t.test('a replay needs the scope', async (t) => {
  const service = await startNotes(t)
  const create = () => createNote(service, 'x', { 'idempotency-key': 'once' })
  t.equal((await create()).statusCode, 201)

  // No command does this.
  const change = "UPDATE api_keys SET scopes = '{notes:read}'"
  await query(service.databaseUrl, change)
  const isForbidden = async () => (await create()).statusCode === 403
  await until(isForbidden, 'the changed scopes are noticed')
})
