import t from 'tap'
import { claimOf } from '../../../src/framework/creates/idempotency-key.ts'
import { Metrics } from '../../../src/framework/metrics.ts'
import { inputTable } from '../../../src/framework/postgres/sql.ts'
import { Statements } from '../../../src/framework/postgres/statements.ts'

const statements = new Statements(new Metrics())
const keyed = { 'idempotency-key': 'key' }

/** The message of each mistake of a developer, and what makes it. */
const mistakes: Record<string, () => unknown> = {
  'the Idempotency-Key of x needs an API key': () =>
    claimOf(
      { params: {}, headers: keyed, apiKeyCheck: undefined, body: {} },
      'x',
      []
    ),
  'the column days of input cannot be of the type date[]: make it jsonb, and convert it in the statement':
    () => inputTable({ name: 'text', days: 'date[]' }),
  'two different statements are called x: change the name, operationId or table of one':
    () => ['SELECT 1', 'SELECT 2'].map((text) => statements.add('x', text))
}

t.test('mistakes of a developer are errors', (t) => {
  for (const [message, make] of Object.entries(mistakes))
    t.throws(make, { message })
  t.end()
})
