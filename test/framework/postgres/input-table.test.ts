import t from 'tap'
import {
  inputParameters,
  inputTable
} from '../../../src/framework/postgres/sql.ts'
import { createDatabase, query } from '../../support/database.ts'

const types = {
  name: 'text',
  bytes: 'bytea',
  big: 'bigint',
  small: 'integer',
  yes: 'boolean',
  object: 'jsonb'
}

const full = {
  name: 'Grüße "NULL" {,} \\ 🐇',
  bytes: Buffer.from([0, 255]),
  big: 9223372036854775807n,
  small: -1,
  yes: true,
  object: { a: [null] }
}

const empty = {
  name: '',
  bytes: Buffer.alloc(0),
  big: null,
  small: undefined,
  yes: false,
  object: null
}

t.test('input rows arrive with their values and in their order', async (t) => {
  const rows = [full, empty].map((row) => Object.values(row))
  const stored = await query(
    await createDatabase(t),
    `SELECT * FROM ${inputTable(types)}`,
    inputParameters(rows)
  )
  t.same(stored, [
    { ...full, big: String(full.big), ordinal: '1' },
    { ...empty, small: null, ordinal: '2' }
  ])
})

t.test('an array column is rejected, with what to use instead', (t) => {
  t.throws(() => inputTable({ name: 'text', days: 'date[]' }), {
    message:
      'the column days of input cannot be of the type date[]: ' +
      'make it jsonb, and convert it in the statement'
  })
  t.end()
})
