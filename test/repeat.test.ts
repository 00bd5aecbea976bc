import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { repeat } from '../src/repeat.ts'
import { stopClock } from './support/clock.ts'

t.test(
  'work is repeated, also after a failure, until it is ended',
  async (t) => {
    const clock = stopClock(t, 'setInterval')
    let runs = 0
    const end = repeat(() => {
      runs++
      return Promise.reject(new Error('no database'))
    }, 1000)
    t.equal(runs, 1)

    clock.pass(1000)
    await setImmediate()
    clock.pass(1000)
    t.equal(runs, 3)

    end()
    clock.pass(1000)
    t.equal(runs, 3)
  }
)
