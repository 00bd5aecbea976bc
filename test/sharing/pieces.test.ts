import t from 'tap'
import { sharePieces } from '../../src/sharing/pieces.ts'

function counted() {
  const reads: number[] = []
  const pieces = sharePieces((after: number) => {
    reads.push(after)
    return after < 0 ? Promise.reject(new Error('broken')) : Promise.resolve(`after ${after}`)
  })
  return { reads, pieces }
}

t.test('a piece that was read since a request came is shared, an older one is read again', async (t) => {
  const { reads, pieces } = counted()
  const first = pieces.now()
  t.equal(await pieces.read(1, first), 'after 1')
  t.equal(await pieces.read(1, first), 'after 1')
  t.same(reads, [1])
  await pieces.read(1, pieces.now())
  t.same(reads, [1, 1])
})

t.test('a stream that has fallen far behind reads its own pieces, and kept ones do not pile up', async (t) => {
  const { reads, pieces } = counted()
  const since = pieces.now()
  for (let after = 0; after < 100; after++) await pieces.read(after, since)
  await pieces.read(99, since)
  t.equal(reads.length, 100)
  await pieces.read(0, since)
  t.equal(reads.length, 101)
})

t.test('a piece that could not be read is read again for who comes later', async (t) => {
  const { reads, pieces } = counted()
  const since = pieces.now()
  const both = await Promise.allSettled([pieces.read(-1, since), pieces.read(-1, since)])
  t.same(
    both.map(({ status }) => status),
    ['rejected', 'rejected']
  )
  t.same(reads, [-1])
  await t.rejects(pieces.read(-1, since), { message: 'broken' })
  t.same(reads, [-1, -1])
})

t.test('a piece that fails late does not take the place of a newer one', async (t) => {
  const failures: (() => void)[] = []
  let reads = 0
  const pieces = sharePieces((after: number) => {
    reads++
    return reads > 1
      ? Promise.resolve(after)
      : new Promise<number>((_resolve, reject) => failures.push(() => reject(new Error('late'))))
  })
  const old = pieces.read(1, pieces.now())
  const since = pieces.now()
  await pieces.read(1, since)
  for (const fail of failures) fail()
  await t.rejects(old, { message: 'late' })
  await pieces.read(1, since)
  t.equal(reads, 2, 'the newer one is shared')
})
