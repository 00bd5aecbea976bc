import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Unavailable } from '../../../src/framework/postgres/failures.ts'
import { repeat } from '../../../src/framework/postgres/repeat.ts'
import { stopClock } from '../../support/clock.ts'
import { recorder } from '../../support/recorder.ts'

const { signal } = new AbortController()
const a = new Error('a')
const unavailable = new Unavailable(new Error('lost'))

t.test(
  'a series of equal failures is logged once, without outages',
  async (t) => {
    const clock = stopClock(t)
    const { lines, log } = recorder()
    const runs = [a, a, new Error('b'), a, unavailable, undefined, a]
    const outcomes = runs.values()
    const work = () => {
      const { value: error } = outcomes.next()
      return error instanceof Error ? Promise.reject(error) : Promise.resolve()
    }

    repeat({ name: 'tidy up', intervalMs: 1000, work }, log, signal)
    for (let run = 0; run < runs.length; run++) {
      await setImmediate()
      clock.pass(1000)
    }

    const messages = lines.map(({ err }) => (err as Error).message)
    t.same(messages, ['a', 'b', 'a', 'a'])
  }
)

t.test('work is repeated once it has ended, until it is aborted', async (t) => {
  const clock = stopClock(t)
  const ends: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => ends.push(resolve))
  const controller = new AbortController()
  const task = { name: 'tidy up', intervalMs: 1000, work }
  repeat(task, recorder().log, controller.signal)

  for (const runs of [1, 2, 2]) {
    clock.pass(3000)
    t.equal(ends.length, runs)
    if (runs === 2) controller.abort()
    ends.at(-1)?.()
    await setImmediate()
  }
})
