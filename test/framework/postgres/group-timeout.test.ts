import t from 'tap'
import { groupTimeoutMsOf } from '../../../src/framework/postgres/group-timeout.ts'

t.test('the group timeout ends before the timeout of the statement', (t) => {
  t.equal(groupTimeoutMsOf(100), 50)
  t.equal(groupTimeoutMsOf(150), 75)
  t.equal(groupTimeoutMsOf(1000), 100)
  t.equal(groupTimeoutMsOf(5000), 250)
  t.end()
})
