import t from 'tap'
import { idempotencyHashesOf } from '../../../src/framework/creates/idempotency-key.ts'
import { openDatabase } from '../../support/database.ts'

const database = openDatabase(t, 'postgres://localhost')
const keyed = { 'idempotency-key': 'key' }

/** The message of each mistake of a developer, and what makes it. */
const mistakes: Record<string, () => unknown> = {
  'the Idempotency-Key of POST /v1/notes needs an API key': () =>
    idempotencyHashesOf(
      {
        method: 'POST',
        routeOptions: { url: '/v1/notes' },
        params: {},
        headers: keyed,
        apiKeyCheck: undefined,
        body: {}
      },
      [],
      []
    ),
  'two statements are called x': () =>
    ['SELECT 1', 'SELECT 2'].map((text) => database.prepare('x', text))
}

t.test('mistakes of a developer are errors', (t) => {
  for (const [message, make] of Object.entries(mistakes))
    t.throws(make, { message })
  t.end()
})
