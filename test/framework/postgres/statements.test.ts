import t from 'tap'
import { Statements } from '../../../src/framework/postgres/statements.ts'

t.test('the name of a statement belongs to one text', (t) => {
  const statements = new Statements()
  const one = statements.add('x', 'SELECT 1')
  t.same(statements.add('x', 'SELECT 1'), one)
  t.throws(() => statements.add('x', 'SELECT 2'), {
    message:
      'two operations have different statements called x: ' +
      'give one of them another name, as in name: …'
  })
  const long = 'é'.repeat(32)
  t.throws(() => statements.add(long, 'SELECT 1'), {
    message: `the name of a statement has over 63 bytes: ${long}`
  })
  t.end()
})
