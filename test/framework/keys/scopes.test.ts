import { Ajv } from 'ajv'
import t from 'tap'
import { readApiDocument } from '../../../src/framework/openapi/document.ts'
import { query } from '../../support/database.ts'
import { notes, startNotes, realm } from '../../support/notes.ts'
import type { Service } from '../../support/service.ts'

const { document, basePath, operations, scopes } = readApiDocument(
  notes.openapi
)

const ajv = new Ajv({ strict: false })
const isError = ajv.compile({
  $ref: '#/components/schemas/Error',
  components: document.components
})

const withKey = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` })

/** Creates a key with these scopes. */
const keyWith = ({ keys }: Service, ...some: string[]) =>
  keys.create('scoped', { scopes: some })

const challengeFor = (scope: string) =>
  `Bearer realm="${realm}", error="insufficient_scope", scope="${scope}"`

const bodyFor = (scope: string) => ({
  code: 'insufficient_scope',
  message: `The API key lacks the scope of this operation: ${scope}`,
  status: 403
})

for (const { id, method, path, scopes: needed } of operations) {
  const scope = needed.join(' ')

  t.test(`${id} needs a key with ${scope}, or with all scopes`, async (t) => {
    const service = await startNotes(t)
    const others = scopes.filter((one) => !needed.includes(one))
    const send = (apiKey: string) =>
      service.app.inject({
        method,
        url: basePath + path.replace(/\{\w+\}/g, '1'),
        headers: withKey(apiKey)
      })

    const forbidden = await send(await keyWith(service, ...others))
    t.equal(forbidden.statusCode, 403)
    t.same(forbidden.json(), bodyFor(scope))
    t.ok(isError(forbidden.json()), ajv.errorsText(isError.errors))
    t.equal(forbidden.headers['www-authenticate'], challengeFor(scope))

    const full = await send(service.key)
    t.not(full.statusCode, 403)
    const scoped = await send(await keyWith(service, ...needed))
    t.equal(scoped.statusCode, full.statusCode)
    t.equal(scoped.body, full.body)
  })
}

t.test('a HEAD needs the scope of the GET', async (t) => {
  const service = await startNotes(t)
  const head = async (scope: string) =>
    service.app.inject({
      method: 'HEAD',
      url: '/v1/notes',
      headers: withKey(await keyWith(service, scope))
    })

  t.equal((await head('notes:read')).statusCode, 200)
  const { statusCode, headers, body } = await head('notes:write')
  t.equal(statusCode, 403)
  t.equal(headers['www-authenticate'], challengeFor('notes:read'))
  t.equal(body, '')
})

const optionsOutcomes = [
  { title: 'without CORS', config: {}, status: 405 },
  {
    title: 'with CORS',
    config: { CORS_ORIGINS: 'https://app.example' },
    status: 204
  }
]

for (const { title, config, status } of optionsOutcomes) {
  t.test(`${title}, an OPTIONS needs no scope`, async (t) => {
    const service = await startNotes(t, { config })
    const { statusCode } = await service.app.inject({
      method: 'OPTIONS',
      url: '/v1/notes',
      headers: withKey(await keyWith(service, 'remarks:read'))
    })
    t.equal(statusCode, status)
  })
}

t.test(
  'a scope is checked after the path, the key and its limit, before the body',
  async (t) => {
    const config = { MAX_REQUESTS_PER_MINUTE: 3, MAX_BODY_BYTES: 100 }
    const service = await startNotes(t, { config })
    const apiKey = await keyWith(service, 'remarks:read')
    const send = (url: string, payload: string, headers = {}) =>
      service.app.inject({
        method: 'POST',
        url,
        headers: { ...withKey(apiKey), ...headers },
        payload
      })

    t.equal((await send('/v1/nothing', '')).statusCode, 404)
    t.equal((await send('/v1/notes/1', '')).statusCode, 405)
    const unknown = { authorization: 'Bearer x' }
    t.equal((await send('/v1/notes', '', unknown)).statusCode, 401)

    const faulty = ['no JSON', '{}', 'x'.repeat(101)]
    for (const [index, payload] of faulty.entries()) {
      const { statusCode, headers } = await send('/v1/notes', payload)
      t.equal(statusCode, 403)
      t.match(headers['ratelimit'], `"key";r=${2 - index};`)
    }
    const { statusCode, headers } = await send('/v1/notes', '{}')
    t.equal(statusCode, 429)
    t.equal(headers['www-authenticate'], undefined)
  }
)

t.test('a scope costs no query', async (t) => {
  const statements: string[] = []
  const onStatement = (name: string) => statements.push(name)
  const service = await startNotes(t, { onStatement })
  const headers = withKey(await keyWith(service, 'remarks:read'))
  statements.length = 0

  for (let count = 0; count < 3; count++) {
    const request = { url: '/v1/notes', headers }
    t.equal((await service.app.inject(request)).statusCode, 403)
  }
  t.same(statements, ['find-api-keys'])
})

t.test(
  'a replay needs the scope of the create, which a rotated key keeps',
  async (t) => {
    const service = await startNotes(t)
    const create = (apiKey: string) =>
      service.app.inject({
        method: 'POST',
        url: '/v1/notes',
        headers: { ...withKey(apiKey), 'idempotency-key': 'once' },
        payload: { name: 'x' }
      })
    const writer = await keyWith(service, 'notes:write')
    const first = await create(writer)
    t.equal(first.statusCode, 201)

    const replay = await create(await service.keys.rotate('2', '1h'))
    t.equal(replay.headers['idempotent-replayed'], 'true')
    t.equal(replay.body, first.body)

    // No command does this.
    await query(
      service.databaseUrl,
      "UPDATE api_keys SET scopes = '{notes:read}' WHERE id = 3"
    )
    const successor = await service.keys.rotate('3', '1h')
    t.equal((await create(successor)).statusCode, 403)
  }
)

t.test('a key has at least one scope', async (t) => {
  const { keys } = await startNotes(t)
  await t.rejects(keys.create('none', { scopes: [] }))
})
