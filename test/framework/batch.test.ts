import t from 'tap'
import { batch, shareRuns } from '../../src/framework/batch.ts'

// What requests see of batches is tested with the operations, in
// test/handlers/ and test/framework/creates/.

t.test('a run takes the oldest items, up to its maximum', async (t) => {
  const runs: number[][] = []
  const run = (items: number[]) => {
    runs.push(items)
    return Promise.resolve(items)
  }
  const call = batch(run, { maxQueued: 3, maxSize: 2 })
  t.same(await Promise.all([1, 2, 3].map(call)), [1, 2, 3])
  t.same(runs, [[1, 2], [3]])
})

t.test(
  'a run with another number of results than calls rejects every call',
  async (t) => {
    for (const results of [[1], [1, 2, 3]]) {
      const call = batch(() => Promise.resolve(results))
      const calls = await Promise.allSettled([1, 2].map(call))
      const message = `2 calls had ${results.length} results`
      const rejected = { status: 'rejected', reason: { message } }
      t.match(calls, [rejected, rejected])
    }
  }
)

t.test(
  'the search for the item at fault ends after maxSplitMs, and rejects the others as overload',
  async (t) => {
    let runs = 0
    // The limit passes while the first run works.
    t.intercept(performance, 'now', { value: () => runs * 10_000 })
    const fail = () => {
      runs++
      return Promise.reject(new Error('at fault'))
    }
    const call = batch<number, number>(fail, {
      maxQueued: 10,
      isFaultOfItem: () => true
    })

    for (const settled of await Promise.allSettled([1, 2, 3].map(call))) {
      t.match(settled, { status: 'rejected', reason: { code: 'overloaded' } })
    }
    t.equal(runs, 1)

    await t.rejects(call(4), { message: 'at fault' })
  }
)

t.test('an isFaultOfItem that throws does not stop a batch', async (t) => {
  const call = batch(runUnlessNegative, {
    maxSize: 2,
    isFaultOfItem: () => {
      throw new Error('not judged')
    }
  })

  const calls = await Promise.allSettled([1, -1, 2].map(call))

  const rejected = { status: 'rejected', reason: { message: 'not judged' } }
  t.match(calls, [rejected, rejected, { value: 2 }])
  t.equal(await call(3), 3)
})

t.test('calls that wait for too long reject as overload', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })

  const runs: number[][] = []
  const run = (items: number[]) => {
    runs.push(items)
    now += 1000
    return Promise.resolve(items)
  }
  const call = batch(run, { maxWaitMs: 1500, maxSize: 1 })
  const calls = await Promise.allSettled([1, 2, 3, 4].map(call))

  const late = { status: 'rejected', reason: { code: 'overloaded' } }
  t.match(calls, [{ value: 1 }, { value: 2 }, late, late])
  t.same(runs, [[1], [2]])
  t.equal(await call(5), 5)
})

t.test('calls of a function without items share the next run', async (t) => {
  const counts: number[] = []
  const call = shareRuns((callCount) => {
    counts.push(callCount)
    return Promise.resolve({})
  }, 'test')

  const [first, second] = await Promise.all([call(), call()])
  const third = await call()

  t.same(counts, [2, 1])
  t.equal(first, second, 'one result')
  t.not(third, first, 'no call joins a run that has started')
})

/** Returns the items. */
function runUnlessNegative(items: number[]): Promise<number[]> {
  const isNegative = items.some((item) => item < 0)
  return isNegative
    ? Promise.reject(new Error('negative'))
    : Promise.resolve(items)
}
