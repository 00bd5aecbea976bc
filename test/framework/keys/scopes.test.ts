import t from 'tap'
import { readApiDocument } from '../../../src/framework/openapi/document.ts'
import { bearer, post } from '../../support/requests.ts'
import { query } from '../../support/database.ts'
import { createNote, notes, realm, startNotes } from '../../support/notes.ts'
import { until } from '../../support/until.ts'

const { basePath, operations, scopes } = readApiDocument(notes.openapiFile)

t.test('an operation needs a key with its scope, or with all', async (t) => {
  const { app, keys } = await startNotes(t)
  for (const { method, path, scopes: needed } of operations) {
    const url = basePath + path.replace(/\{\w+\}/g, '1')
    const headersWith = async (some: string[]) =>
      bearer(await keys.create('scoped', { scopes: some }))
    const others = await headersWith(
      scopes.filter((one) => !needed.includes(one))
    )
    const forbidden = await app.inject({ method, url, headers: others })
    const scope = needed.join(' ')
    const challenge = `Bearer realm="${realm}", error="insufficient_scope", scope="${scope}"`
    t.equal(forbidden.headers['www-authenticate'], challenge)
    t.same(forbidden.json(), {
      code: 'insufficient_scope',
      message: `The API key lacks the scope of this operation: ${scope}`,
      status: 403
    })

    const headers = await headersWith(needed)
    t.not((await app.inject({ method, url, headers })).statusCode, 403)
    if (method !== 'GET') continue
    const head = await app.inject({ method: 'HEAD', url, headers: others })
    t.equal(head.statusCode, 403)
  }
})

t.test('the first check that fails is the response', async (t) => {
  const config = { MAX_REQUESTS_PER_MINUTE: 3 }
  const service = await startNotes(t, { config })
  const auth = bearer(
    await service.keys.create('scoped', { scopes: ['remarks:read'] })
  )
  const status = async (path: string, payload: string, headers = {}) =>
    (await post({ ...service, auth }, path, payload, headers)).statusCode

  t.equal(await status('nothing', ''), 404)
  t.equal(await status('notes/1', ''), 405)
  t.equal(await status('notes', '', bearer('x')), 401)
  for (const payload of ['no JSON', '{}', 'x'.repeat(70_000)])
    t.equal(await status('notes', payload), 403)
  t.equal(await status('notes', '{}'), 429, 'a 403 counts')
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
