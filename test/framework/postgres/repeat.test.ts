import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Unavailable } from '../../../src/framework/postgres/failures.ts'
import { repeat } from '../../../src/framework/postgres/repeat.ts'
import { stopClock } from '../../support/clock.ts'
import { recorder } from '../../support/recorder.ts'

/** A task that runs each second. It has these outcomes, and then succeeds. */
function start(t: Test, outcomes: (Error | undefined)[]) {
  const clock = stopClock(t, 'setInterval')
  const { lines, log } = recorder()
  let runs = 0

  const work = () => {
    const error = outcomes[runs++]
    return error === undefined ? Promise.resolve() : Promise.reject(error)
  }
  const task = { name: 'tidy up', intervalMs: 1000, work }
  const end = repeat(task, log)

  return {
    end,
    lines,
    runs: () => runs,
    passSecond: async () => {
      await setImmediate()
      clock.pass(1000)
      await setImmediate()
    }
  }
}

t.test(
  'work is repeated, even after a failure, until it is stopped',
  async (t) => {
    const { end, runs, passSecond } = start(t, [new Error('a'), new Error('b')])
    t.equal(runs(), 1)

    await passSecond()
    await passSecond()
    t.equal(runs(), 3)

    end()
    await passSecond()
    t.equal(runs(), 3)
  }
)

t.test('work is not started again while it lasts', async (t) => {
  const clock = stopClock(t, 'setInterval')
  const ends: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => ends.push(resolve))
  repeat({ name: 'tidy up', intervalMs: 1000, work }, recorder().log)

  clock.pass(3000)
  t.equal(ends.length, 1)

  ends[0]?.()
  await setImmediate()
  clock.pass(1000)
  t.equal(ends.length, 2)
})

/** What a task logs for its outcomes: the messages of the errors. */
const logged = [
  {
    why: 'a failure is logged once while it lasts',
    outcomes: [new Error('a'), new Error('a'), new Error('a')],
    messages: ['a']
  },
  {
    why: 'another failure is logged',
    outcomes: [new Error('a'), new TypeError('a'), new Error('b')],
    messages: ['a', 'a', 'b']
  },
  {
    why: 'a failure after a success is logged again',
    outcomes: [new Error('a'), undefined, new Error('a')],
    messages: ['a', 'a']
  },
  {
    why: 'the database logs its outages itself',
    outcomes: [new Unavailable(new Error('lost'))],
    messages: []
  }
]

for (const { why, outcomes, messages } of logged) {
  t.test(why, async (t) => {
    const { lines, passSecond } = start(t, outcomes)

    for (let run = 0; run < outcomes.length; run++) await passSecond()

    t.match(
      lines,
      messages.map((message) => ({
        level: 50,
        msg: 'the background task failed: tidy up',
        err: { message }
      }))
    )
    t.equal(lines.length, messages.length)
  })
}
