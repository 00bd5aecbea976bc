import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Unavailable } from '../../src/framework/postgres/failures.ts'
import { repeat } from '../../src/framework/tasks.ts'
import { recorder } from '../support/recorder.ts'

t.test(
  'a task is repeated until it is stopped; the log has its failures',
  async (t) => {
    const { lines, log } = recorder()
    const stop = new AbortController()
    const a = new Error('a')
    const unavailable = new Unavailable('lost', new Error('lost'))
    const runs = [a, undefined, unavailable, a]
    const outcomes = runs.values()
    await new Promise<void>((resolve) => {
      const work = () => {
        const { value: error, done } = outcomes.next()
        if (done === true) {
          stop.abort()
          resolve()
        }
        return error === undefined ? Promise.resolve() : Promise.reject(error)
      }
      repeat({ name: 'tidy up', intervalMs: 1, work }, log, stop.signal)
    })
    await setImmediate()

    const messages = lines.map(({ err }) => (err as Error).message)
    t.same(messages, ['a', 'a'])
  }
)
