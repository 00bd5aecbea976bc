import t from 'tap'
import { idempotencyHashesOf } from '../../../src/framework/creates/create-handler.ts'
import { openDatabase } from '../../support/database.ts'

/** The message of each mistake of a developer, and what makes it. */
const mistakes: Record<string, () => unknown> = {
  'the Idempotency-Key of POST /v1/notes needs an API key': () =>
    idempotencyHashesOf(
      {
        method: 'POST',
        routeOptions: { url: '/v1/notes' },
        params: {},
        headers: { 'idempotency-key': 'key' },
        apiKeyCheck: undefined,
        body: {}
      },
      [],
      []
    ),
  'two statements are called x': () => {
    const database = openDatabase(t, 'postgres://localhost')
    database.prepare('x', 'SELECT 1')
    database.prepare('x', 'SELECT 2')
  }
}

t.test('mistakes of a developer are errors', (t) => {
  for (const [message, make] of Object.entries(mistakes))
    t.throws(make, { message })
  t.end()
})
