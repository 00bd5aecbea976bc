import t from 'tap'
import { idempotencyHashesOf } from '../../../src/framework/creates/create-handler.ts'
import { openDatabase } from '../../support/database.ts'

const database = openDatabase(t, 'postgres://localhost')

const request = {
  method: 'POST',
  routeOptions: { url: '/v1/notes' },
  params: {},
  headers: { 'idempotency-key': 'key' },
  apiKeyCheck: undefined,
  body: {}
}

/** The message of each mistake of a developer, and what makes it. */
const mistakes: Record<string, () => unknown> = {
  'the Idempotency-Key of POST /v1/notes needs an API key': () =>
    idempotencyHashesOf(request, [], []),
  'two statements are called x': () =>
    ['SELECT 1', 'SELECT 2'].map((text) => database.prepare('x', text))
}

t.test('an array that equals its default changes no hash', (t) => {
  const property = 'tags' as const
  const columns = [{ property, column: 'tags', type: 'jsonb', default: [] }]
  const apiKeyCheck = {
    state: 'valid' as const,
    id: 1n,
    firstId: 1n,
    isUseRecorded: true,
    scopes: null
  }
  const hashesOf = (body: { tags?: string[] }) =>
    idempotencyHashesOf({ ...request, apiKeyCheck, body }, columns, [])
  t.same(hashesOf({ tags: [] }), hashesOf({}))
  t.end()
})

t.test('mistakes of a developer are errors', (t) => {
  for (const [message, make] of Object.entries(mistakes))
    t.throws(make, { message })
  t.end()
})
