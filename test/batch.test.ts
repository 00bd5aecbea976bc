import t from 'tap'
import { batch } from '../src/batch.ts'

/** A batch whose runs end when the test says so. */
function controlled(options: Parameters<typeof batch>[1] = { maxWaiting: 10 }) {
  const runs: { items: number[]; end: () => void; fail: (error: Error) => void }[] = []
  const call = batch(
    (items: number[]) =>
      new Promise<number[]>((resolve, reject) =>
        runs.push({ items, end: () => resolve(items.map((item) => item * 10)), fail: reject })
      ),
    options
  )
  /** Resolves when so many runs have started. */
  const started = async (count: number) => {
    while (runs.length < count) await new Promise(setImmediate)
  }
  return { runs, call, started, items: () => runs.map(({ items }) => items) }
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

t.test('a call to an idle batch runs at once, and calls that arrive during a run share the next one', async (t) => {
  const { runs, call, items } = controlled()
  const first = call(1)
  await turns(1)
  t.same(items(), [[1]], 'in the same turn of the event loop')
  const others = [call(2), call(3)]
  await turns(3)
  t.equal(runs.length, 1, 'none joins a run that has started')
  runs[0]?.end()
  t.equal(await first, 10)
  await turns(2)
  t.same(items(), [[1], [2, 3]])
  runs[1]?.end()
  t.same(await Promise.all(others), [20, 30])
})

t.test('a run that fails rejects only its own calls', async (t) => {
  const { runs, call, started } = controlled()
  const first = call(1)
  await started(1)
  const others = [call(2), call(3)]
  runs[0]?.fail(new Error('broken'))
  await t.rejects(first, { message: 'broken' })
  await started(2)
  const last = call(4)
  runs[1]?.fail(new Error('broken again'))
  for (const other of others) await t.rejects(other, { message: 'broken again' })
  await started(3)
  runs[2]?.end()
  t.equal(await last, 40)
})

t.test(
  'a run takes the oldest items up to its maximum, and calls beyond those that may wait are rejected',
  async (t) => {
    const { runs, call, started, items } = controlled({ maxWaiting: 3, maxSize: 2 })
    const calls = [1, 2, 3].map(call)
    await t.rejects(call(4), { message: 'too many calls are waiting' })
    for (const run of [0, 1]) {
      await started(run + 1)
      runs[run]?.end()
    }
    t.same(await Promise.all(calls), [10, 20, 30])
    t.same(items(), [[1, 2], [3]])
  }
)

t.test('an item at fault fails alone, and an error that is no item’s fault rejects all calls of the run', async (t) => {
  const ran: number[][] = []
  const call = batch(
    (items: number[]) => {
      ran.push(items)
      if (items.includes(3)) return Promise.reject(new Error('three'))
      if (items.includes(9)) return Promise.reject(new Error('down'))
      return Promise.resolve(items)
    },
    { maxWaiting: 10, isFaultOfItem: (error) => (error as Error).message === 'three' }
  )
  const settled = await Promise.allSettled([1, 2, 3, 4].map(call))
  t.same(
    settled.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message)),
    [1, 2, 'three', 4]
  )
  t.same(ran, [[1, 2, 3, 4], [1, 2], [3, 4], [3], [4]])
  for (const { status } of await Promise.allSettled([8, 9].map(call))) t.equal(status, 'rejected')
  t.equal(ran.length, 6, 'not tried again')
})

t.test(
  'the search for the item at fault ends after a time limit, and the remaining calls are rejected as overload',
  async (t) => {
    let runs = 0
    // The limit passes while the first run works.
    const now = t.intercept(performance, 'now', { value: () => runs * 10_000 })
    const call = batch<number, number>(
      () => {
        runs++
        return Promise.reject(new Error('at fault'))
      },
      { maxWaiting: 10, isFaultOfItem: () => true }
    )
    for (const settled of await Promise.allSettled([1, 2, 3].map(call))) {
      t.match(settled, { status: 'rejected', reason: { message: 'too many calls are waiting' } })
    }
    t.equal(runs, 1)
    await t.rejects(call(4), { message: 'at fault' })
    now.restore()
  }
)
