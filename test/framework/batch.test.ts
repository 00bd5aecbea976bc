import t from 'tap'
import { batch } from '../../src/framework/batch.ts'

// What requests see of batches is tested with the operations, in creates/ and
// reads/.

/** A function that records its runs, and returns its items. */
function recordedRun() {
  const runs: number[][] = []
  const run = (items: number[]) => {
    runs.push(items)
    return Promise.resolve(items)
  }

  return { runs, run }
}

const overloaded = { status: 'rejected', reason: { code: 'overloaded' } }

t.test('a run takes the oldest items, up to its maximum', async (t) => {
  const { runs, run } = recordedRun()
  const call = batch(run, { maxSize: 2 })

  t.same(await Promise.all([1, 2, 3].map(call)), [1, 2, 3])
  t.same(runs, [[1, 2], [3]])
})

t.test('2,500 calls may wait', async (t) => {
  const call = batch(recordedRun().run)
  const waiting = Array.from({ length: 2500 }, (_, index) => call(index))
  await t.rejects(call(2500), { code: 'overloaded' })
  await t.resolves(Promise.all(waiting))
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

t.test('calls that wait for too long reject as overload', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })

  const { runs, run } = recordedRun()
  const runSlowly = (items: number[]) => {
    now += 1000
    return run(items)
  }
  const call = batch(runSlowly, { maxWaitMs: 1500, maxSize: 1 })

  const calls = await Promise.allSettled([1, 2, 3, 4].map(call))
  t.match(calls, [{ value: 1 }, { value: 2 }, overloaded, overloaded])
  t.same(runs, [[1], [2]])
  t.equal(await call(5), 5)
})
