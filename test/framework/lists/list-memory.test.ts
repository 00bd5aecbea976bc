import t from 'tap'
import { ListMemory } from '../../../src/framework/lists/list-memory.ts'

/** Bytes that each list takes beside its own. */
const overhead = 4096

/** Memory for this many lists of 1,000 bytes, and a function to make them. */
function memoryFor(lists: number) {
  const memory = new ListMemory(lists * (1000 + overhead))
  const forgotten: string[] = []
  const listNamed = (name: string) => ({ forget: () => forgotten.push(name) })

  return { memory, forgotten, listNamed }
}

t.test(
  'a list takes the memory of the list that was used the longest ago',
  (t) => {
    const { memory, forgotten, listNamed } = memoryFor(3)
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(listNamed)

    for (const list of [a, b, c]) if (list) t.ok(memory.keep(list, 1000))
    t.same(forgotten, [], 'three lists fit')

    if (a) memory.use(a)
    if (d) t.ok(memory.keep(d, 1000))
    t.same(forgotten, ['b'])
    t.end()
  }
)

t.test('a list that is replaced or removed returns its memory', (t) => {
  const { memory, forgotten, listNamed } = memoryFor(2)
  const a = listNamed('a')
  const b = listNamed('b')

  memory.keep(a, 1000)
  memory.keep(b, 1000)
  memory.keep(a, 900)
  memory.remove(b)
  memory.keep(listNamed('c'), 1000)
  t.same(forgotten, [])
  t.end()
})

t.test('encodings of a list count, and may not exceed the limit', (t) => {
  const { memory, forgotten, listNamed } = memoryFor(2)
  const a = listNamed('a')
  const b = listNamed('b')

  memory.keep(a, 1000)
  memory.keep(b, 1000)
  t.ok(memory.grow(b, 500))
  t.same(forgotten, ['a'])
  t.notOk(memory.grow(b, 10_000))
  t.same(forgotten, ['a'], 'the list itself is still kept')
  t.end()
})

t.test('a list beyond the limit is not kept, at no cost for others', (t) => {
  const { memory, forgotten, listNamed } = memoryFor(2)

  memory.keep(listNamed('a'), 1000)
  t.notOk(memory.keep(listNamed('long'), memory.maxListSize + 1))
  t.same(forgotten, [])
  t.ok(memory.keep(listNamed('longest'), memory.maxListSize))
  t.same(forgotten, ['a'])
  t.end()
})

t.test('lists that are being read have a limit together', (t) => {
  const { memory } = memoryFor(1)
  const limit = 1000 + overhead

  t.ok(memory.addRead(limit))
  t.notOk(memory.addRead(1))
  memory.endRead(limit)
  t.ok(memory.addRead(limit - 1))
  t.end()
})
