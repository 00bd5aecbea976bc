import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Unavailable } from '../../../src/framework/postgres/failures.ts'
import { repeat } from '../../../src/framework/postgres/repeat.ts'
import { stopClock } from '../../support/clock.ts'
import { recorder } from '../../support/recorder.ts'

const a = new Error('a')
const unavailable = new Unavailable(new Error('lost'))

/** What the runs of a task end with, and the messages that it logs. */
const cases = [
  { runs: [a, a, a], logged: ['a'], why: 'once while it lasts' },
  { runs: [a, new Error('b'), a], logged: ['a', 'b', 'a'], why: 'each other' },
  { runs: [a, undefined, a], logged: ['a', 'a'], why: 'again after a success' },
  { runs: [unavailable], logged: [], why: 'not, if it is an outage' }
]

for (const { runs, logged, why } of cases) {
  t.test(`a failure is logged ${why}`, async (t) => {
    const clock = stopClock(t)
    const { lines, log } = recorder()
    const outcomes = runs.values()
    const work = () => {
      const { value: error } = outcomes.next()
      return error instanceof Error ? Promise.reject(error) : Promise.resolve()
    }

    repeat({ name: 'tidy up', intervalMs: 1000, work }, log)
    for (let run = 0; run < runs.length; run++) {
      await setImmediate()
      clock.pass(1000)
    }

    const messages = lines.map(({ err }) => (err as Error).message)
    t.same(messages, logged)
  })
}

t.test('work is repeated once it has ended, until it is stopped', async (t) => {
  const clock = stopClock(t)
  const ends: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => ends.push(resolve))
  const task = { name: 'tidy up', intervalMs: 1000, work }
  const stop = repeat(task, recorder().log)
  clock.pass(3000)
  t.equal(ends.length, 1)

  ends[0]?.()
  await setImmediate()
  clock.pass(1000)
  t.equal(ends.length, 2)

  stop()
  ends[1]?.()
  await setImmediate()
  clock.pass(1000)
  t.equal(ends.length, 2)
})
