import t from 'tap'
import { batch } from '../../src/database/batch.ts'

/** A run that ends when it is told to. */
function controlled() {
  const runs: { items: number[]; end: () => void; fail: (error: Error) => void }[] = []
  const call = batch(
    (items: number[]) =>
      new Promise<number[]>((resolve, reject) =>
        runs.push({ items, end: () => resolve(items.map((item) => item * 10)), fail: reject })
      )
  )
  return { runs, call }
}

const settled = () => new Promise(setImmediate)

t.test('a call goes at once when nothing runs, and calls that come during a run go together after it', async (t) => {
  const { runs, call } = controlled()
  const first = call(1)
  t.same(
    runs.map(({ items }) => items),
    [[1]]
  )
  const others = [call(2), call(3)]
  await settled()
  t.equal(runs.length, 1, 'none joins a run that has started')
  runs[0]?.end()
  t.equal(await first, 10)
  t.same(runs[1]?.items, [2, 3])
  runs[1]?.end()
  t.same(await Promise.all(others), [20, 30])
})

t.test('a run that fails fails its own calls and no others', async (t) => {
  const { runs, call } = controlled()
  const first = call(1)
  const second = call(2)
  runs[0]?.fail(new Error('broken'))
  await t.rejects(first, { message: 'broken' })
  runs[1]?.end()
  t.equal(await second, 20)
})
