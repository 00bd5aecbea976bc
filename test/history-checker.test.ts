// Feeds the checker of histories good and bad ones: a checker that accepts a
// bad history would let every test that uses it pass.
import t from 'tap'
import {
  type CreateResponse,
  HistoryChecker
} from './support/history-checker.ts'

/** Responses to a create of a cat, the names of the rows, and the violations. */
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
  'a create is rejected': [[rejected], [], 'cat failed with 422 {}'],

  // Of creates that are sent once: the outcome of `plain` is unknown.
  'a create with an unknown outcome is not stored': [[], []],
  'a create with an unknown outcome is stored': [[], ['plain']],
  'the service repeats a create with an unknown outcome': [
    [],
    ['plain', 'plain'],
    `${bodyOf(2, 'plain')} is not the body of a response`
  ],
  'a create is stored that was refused as unavailable': [
    [],
    ['refused'],
    `${bodyOf(1, 'refused')} is not the body of a response`
  ]
}

for (const [title, history] of Object.entries(createHistories)) {
  const [responses, names, ...violations] = history
  t.test(`${violations.length} violations if ${title}`, (t) => {
    const checker = new HistoryChecker()
    checker.recordUnknown('plain')
    for (const response of responses) checker.record('cat', response)
    const rows = names.map((name, index) => ({ id: String(index + 1), name }))
    t.same(checker.check(rows), violations)
    t.end()
  })
}

type Row = Record<string, unknown>

const cat = { id: 1, name: 'cat' }

/** The rows of a list, those of the table, and the violations. */
type ListHistory = [Row[], Row[], ...string[]]

const listHistories: Record<string, ListHistory> = {
  'it is fresh': [[cat], [cat]],
  'it lacks a row that was acknowledged': [
    [],
    [cat],
    `a list lacks ${bodyOf(1)}`
  ],
  'it has a row twice': [[cat, cat], [cat], `a list has ${bodyOf(1)} twice`],
  'it shows a row that is lost later': [
    [cat, { id: 2, name: 'dog' }],
    [cat],
    `${bodyOf(2, 'dog')} was in a list, and is lost`
  ]
}

for (const [title, history] of Object.entries(listHistories)) {
  const [listed, stored, ...violations] = history
  t.test(`a list has ${violations.length} violations if ${title}`, (t) => {
    const checker = new HistoryChecker()
    checker.record('cat', created)
    checker.checkList([...checker.acknowledged], listed)
    t.same(checker.check(stored), violations)
    t.end()
  })
}
