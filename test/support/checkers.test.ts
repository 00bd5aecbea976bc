// Feeds the checkers of histories good and bad ones: a checker that accepts a
// bad history would let every test that uses it pass.
import t from 'tap'
import {
  CreateHistoryChecker,
  FreshListChecker,
  type Outcome
} from './create-history-checker.ts'
import { notOnce } from './installation.ts'
import { ListHistoryChecker } from './list-history-checker.ts'

/** What happens after a cat was stored, and the faults that it has. */
interface ListHistory {
  title: string
  happens: (checker: ListHistoryChecker) => void
  faults: string[]
}

const goodLists: ListHistory[] = [
  {
    title: 'a list shows what was stored before its request',
    happens(checker) {
      checker.check(['cat'], checker.tick(), 'a list')
    },
    faults: []
  },
  {
    title: 'lists show or lack what is committed meanwhile',
    happens(checker) {
      const sentAt = checker.tick()
      checker.sendCommit(['dog'])
      checker.check(['cat'], sentAt, 'a list')
      checker.check(['cat', 'dog'], sentAt, 'a list')
      checker.tick()
      checker.record('stored', ['dog'])
      checker.check(['cat'], sentAt, 'a list')
      checker.check(['cat', 'dog'], sentAt, 'a list')
    },
    faults: []
  },
  {
    title: 'lists show or lack what is removed meanwhile',
    happens(checker) {
      const sentAt = checker.tick()
      checker.record('removing', ['cat'])
      checker.check(['cat'], sentAt, 'a list')
      checker.check([], sentAt, 'a list')
      checker.tick()
      checker.record('removed', ['cat'])
      checker.check(['cat'], sentAt, 'a list')
      checker.check([], checker.tick(), 'a later list')
    },
    faults: []
  },
  {
    title: 'a list lacks what a failover lost',
    happens(checker) {
      checker.keepOnly(['dog'])
      checker.check(['dog'], checker.tick(), 'a list')
    },
    faults: []
  },
  {
    title: 'an ETag names the same body again',
    happens(checker) {
      checker.checkEtag('"1"', 'gzip', '[]')
      checker.checkEtag('"1"', 'gzip', '[]')
      checker.checkEtag('"2"', 'br', '[]')
    },
    faults: []
  }
]

const badLists: ListHistory[] = [
  {
    title: 'a list is stale',
    happens(checker) {
      checker.check([], checker.tick(), 'a list')
    },
    faults: ['a list misses cat']
  },
  {
    title: 'a list shows a row twice',
    happens(checker) {
      checker.check(['cat', 'cat'], checker.tick(), 'a list')
    },
    faults: ['a list shows a row twice']
  },
  {
    title: 'a list shows what nobody committed',
    happens(checker) {
      checker.check(['cat', 'dog'], checker.tick(), 'a list')
    },
    faults: ['a list shows dog, which is not committed']
  },
  {
    title: 'a list shows what was rejected',
    happens(checker) {
      checker.sendCommit(['dog'])
      checker.reject('dog')
      checker.check(['cat', 'dog'], checker.tick(), 'a list')
    },
    faults: ['a list shows dog, which is not committed']
  },
  {
    title: 'a list shows what was removed before',
    happens(checker) {
      checker.record('removing', ['cat'])
      checker.tick()
      checker.record('removed', ['cat'])
      checker.check(['cat'], checker.tick(), 'a list')
    },
    faults: ['a list shows cat, which was removed']
  },
  {
    title: 'lists are out of order: a row disappears and comes back',
    happens(checker) {
      checker.check(['cat'], checker.tick(), 'the first list')
      checker.check([], checker.tick(), 'the second list')
      checker.check(['cat'], checker.tick(), 'the third list')
    },
    faults: ['the second list misses cat']
  },
  {
    title: 'a list shows what a failover lost',
    happens(checker) {
      checker.keepOnly(['dog'])
      checker.check(['cat'], checker.tick(), 'a list')
    },
    faults: ['a list shows cat, which is not committed', 'a list misses dog']
  },
  {
    title: 'an ETag names two bodies, or two codings',
    happens(checker) {
      checker.checkEtag('"1"', 'gzip', '[]')
      checker.checkEtag('"1"', 'gzip', '[{}]')
      checker.checkEtag('"2"', 'gzip', '[]')
      checker.checkEtag('"2"', 'br', '[]')
    },
    faults: ['"1" names two bodies', '"2" names two bodies']
  }
]

for (const { title, happens, faults } of [...goodLists, ...badLists]) {
  const verdict = faults.length === 0 ? 'good' : 'bad'
  t.test(`a history of lists is ${verdict} if ${title}`, (t) => {
    const checker = new ListHistoryChecker()
    checker.sendCommit(['cat'])
    checker.tick()
    checker.record('stored', ['cat'])
    happens(checker)
    t.same([...checker.faults], faults)
    t.end()
  })
}

/** Responses to a create of a cat, the rows of the table, and the faults. */
interface CreateHistory {
  title: string
  responses: Outcome[]
  rows: Record<string, unknown>[]
  faults: string[]
}

const catRow = { id: '1', name: 'cat' }
const secondCatRow = { id: '2', name: 'cat' }
const catBody = '{"id":1,"name":"cat"}'
const secondCatBody = '{"id":2,"name":"cat"}'
const created: Outcome = { status: 201, body: catBody, isReplayed: false }
const replayed: Outcome = { ...created, isReplayed: true }

const goodCreates: CreateHistory[] = [
  {
    title: 'a create has one row',
    responses: [created],
    rows: [catRow],
    faults: []
  },
  {
    title: 'a create is replayed',
    responses: [created, replayed, replayed],
    rows: [catRow],
    faults: []
  },
  {
    title: 'the first response was lost on the way',
    responses: [replayed],
    rows: [catRow],
    faults: []
  },
  {
    title: 'a replay overtakes the first response',
    responses: [replayed, created],
    rows: [catRow],
    faults: []
  }
]

const badCreates: CreateHistory[] = [
  {
    title: 'an acknowledged create is lost',
    responses: [created],
    rows: [],
    faults: [`${catBody} is lost`]
  },
  {
    title: 'a create has two rows',
    responses: [created],
    rows: [catRow, secondCatRow],
    faults: [`${secondCatBody} is not the body of a response`]
  },
  {
    title: 'the row has another name',
    responses: [created],
    rows: [{ id: '1', name: 'dog' }],
    faults: [
      '{"id":1,"name":"dog"} is not the body of a response',
      `${catBody} is lost`
    ]
  },
  {
    title: 'a replay does not say that it is one',
    responses: [created, created],
    rows: [catRow],
    faults: ['cat was created twice']
  },
  {
    title: 'a replay has another body',
    responses: [created, { ...replayed, body: secondCatBody }],
    rows: [catRow, secondCatRow],
    faults: ['cat has two bodies']
  },
  {
    title: 'a create is rejected',
    responses: [{ ...created, status: 422, body: '{}' }],
    rows: [],
    faults: ['cat failed with 422 {}']
  }
]

for (const history of [...goodCreates, ...badCreates]) {
  const { title, responses, rows, faults } = history
  const verdict = faults.length === 0 ? 'good' : 'bad'
  t.test(`a history of creates is ${verdict} if ${title}`, (t) => {
    const checker = new CreateHistoryChecker()
    for (const response of responses) checker.record('cat', response)
    t.same(checker.check(rows), faults)
    t.end()
  })
}

t.test('a list beside creates is bad if it is stale', (t) => {
  const creates = new CreateHistoryChecker()
  const checker = new FreshListChecker(creates)
  const expectedBefore = checker.expected()
  creates.record('cat', created)
  const expectedAfter = checker.expected()

  checker.check(expectedBefore, [], 'an early list')
  checker.check(expectedAfter, [{ id: 1, name: 'cat' }], 'a fresh list')
  t.same([...checker.faults], [])
  t.same([...checker.seen], [catBody])

  checker.check(expectedAfter, [{ id: 2, name: 'dog' }], 'a stale list')
  t.same([...checker.faults], [`a stale list lacks ${catBody}`])
  t.end()
})

t.test('names that are not listed exactly once are found', (t) => {
  t.same(notOnce(['cat', 'dog'], ['dog', 'cat', 'cow']), [])
  t.same(notOnce(['cat', 'dog'], ['dog']), ['cat'], 'a lost one')
  t.same(notOnce(['cat', 'dog'], ['dog', 'cat', 'dog']), ['dog'], 'a double')
  t.end()
})
