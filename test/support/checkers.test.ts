// Feeds the checkers of histories good and bad ones: a checker that accepts a
// bad history would let every test that uses it pass.
import t from 'tap'
import {
  CreateHistoryChecker,
  type CreateResponse
} from './create-history-checker.ts'

/** Responses to a create of a cat, the names of the rows, and the faults. */
type CreateHistory = [CreateResponse[], string[], ...string[]]

const bodyOf = (id: number, name = 'cat') => JSON.stringify({ id, name })
const created = { status: 201, body: bodyOf(1), isReplayed: false }
const replayed = { ...created, isReplayed: true }
const rejected = { ...created, status: 422, body: '{}' }

const createHistories: Record<string, CreateHistory> = {
  'a create is replayed': [[created, replayed, replayed], ['cat']],
  'a replay overtakes the first response': [[replayed, created], ['cat']],
  'an acknowledged create is lost': [[created], [], `${bodyOf(1)} is lost`],
  'a create has two rows': [
    [created],
    ['cat', 'cat'],
    `${bodyOf(2)} is not the body of a response`
  ],
  'a replay does not say that it is one': [
    [created, created],
    ['cat'],
    'cat was created twice'
  ],
  'a replay has another body': [
    [created, { ...replayed, body: bodyOf(2) }],
    ['cat', 'cat'],
    'cat has two bodies'
  ],
  'a create is rejected': [[rejected], [], 'cat failed with 422 {}']
}

for (const [title, history] of Object.entries(createHistories)) {
  const [responses, names, ...faults] = history
  t.test(`${faults.length} faults if ${title}`, (t) => {
    const checker = new CreateHistoryChecker()
    for (const response of responses) checker.record('cat', response)
    const rows = names.map((name, index) => ({ id: String(index + 1), name }))
    t.same(checker.check(rows), faults)
    t.end()
  })
}

t.test('a list beside creates is bad if it is stale', (t) => {
  const checker = new CreateHistoryChecker()
  checker.checkList([], [], 'an early list')
  checker.checkList([bodyOf(1)], [{ id: 1, name: 'cat' }], 'a fresh list')
  t.same(checker.faults, [])

  checker.checkList([bodyOf(1)], [{ id: 2, name: 'dog' }], 'a stale list')
  t.same(checker.faults, [`a stale list lacks ${bodyOf(1)}`])
  t.end()
})
