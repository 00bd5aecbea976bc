import t from 'tap'
import { batch } from '../src/batch.ts'

// What requests see of batches is tested with the operations.

const patient = { concurrency: 1, maxWaitMs: Infinity }

t.test('2,500 calls may wait', async (t) => {
  const call = batch((items: number[]) => Promise.resolve(items), patient)
  const waiting = Array.from({ length: 2500 }, (_, index) => call(index))
  await t.rejects(call(2500), { code: 'overloaded' })
  await t.resolves(Promise.all(waiting))
})

t.test('calls that wait for too long reject as overload', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const runSlowly = (items: number[]) => {
    now += 1000
    return Promise.resolve(items)
  }
  const call = batch(runSlowly, {
    concurrency: 1,
    maxWaitMs: 1500,
    maxItems: 1
  })

  const overloaded = { reason: { code: 'overloaded' } }
  t.match(await Promise.allSettled([1, 2, 3, 4].map(call)), [
    { value: 1 },
    { value: 2 },
    overloaded,
    overloaded
  ])
  t.equal(await call(5), 5)
})

t.test('calls that wait with equal items share one of them', async (t) => {
  type Page = (number | string)[]
  const runs: Page[][] = []
  const run = (items: Page[]) => {
    runs.push(items)
    return Promise.resolve(items)
  }
  const call = batch(run, { ...patient, maxItems: 2, sharesEqual: true })

  // The last two are equal as texts.
  const pages = [
    [1, 20],
    [1, 20],
    [2, 20],
    [2, 20],
    [1, 20],
    ['1,20'],
    ['1', 20]
  ]
  t.same(await Promise.all(pages.map(call)), pages)
  t.strictSame(runs, [
    [
      [1, 20],
      [2, 20]
    ],
    [['1,20'], ['1', 20]]
  ])

  t.same(await call([1, 20]), [1, 20], 'a run that has started takes no call')
  t.same(runs.length, 3)
})
