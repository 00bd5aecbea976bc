import t from 'tap'
import { batch } from '../../src/framework/batch.ts'

// What requests see of batches is tested with the operations, in creates/ and
// reads/.

t.test('2,500 calls may wait', async (t) => {
  const call = batch((items: number[]) => Promise.resolve(items))
  const waiting = Array.from({ length: 2500 }, (_, index) => call(index))
  await t.rejects(call(2500), { code: 'overloaded' })
  await t.resolves(Promise.all(waiting))
})

t.test(
  'a run with another number of results than calls rejects these calls',
  async (t) => {
    const results = [[1], [1, 2, 3], [1, 2]]
    const call = batch(() => Promise.resolve(results.shift() ?? []))
    const callTwice = () => Promise.allSettled([call(0), call(0)])

    for (const count of [1, 3]) {
      const message = `2 calls had ${count} results`
      const rejected = { status: 'rejected', reason: { message } }
      t.match(await callTwice(), [rejected, rejected])
    }
    t.match(await callTwice(), [{ value: 1 }, { value: 2 }], 'the next go on')
  }
)

t.test('calls that wait for too long reject as overload', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const runSlowly = (items: number[]) => {
    now += 1000
    return Promise.resolve(items)
  }
  const call = batch(runSlowly, { maxWaitMs: 1500, maxSize: 1 })

  const overloaded = { reason: { code: 'overloaded' } }
  t.match(await Promise.allSettled([1, 2, 3, 4].map(call)), [
    { value: 1 },
    { value: 2 },
    overloaded,
    overloaded
  ])
  t.equal(await call(5), 5)
})
