import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { startPruningChanges } from '../../../src/framework/lists/prune-changes.ts'
import { Statements } from '../../../src/framework/postgres/statements.ts'
import { stopClock } from '../../support/clock.ts'
import { silent } from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'

t.test(
  'changes are pruned immediately, and every five seconds until the end',
  async (t) => {
    const clock = stopClock(t, 'setInterval')
    const texts: string[] = []
    const end = startPruningChanges(
      {
        statements: new Statements(),
        writeInBackground({ text }) {
          texts.push(text)
          return Promise.reject(new Error('no database'))
        }
      },
      silent
    )
    t.same(texts.splice(0), ['SELECT prune_changes()'])

    await setImmediate()
    clock.pass(5000)
    await setImmediate()
    clock.pass(5000)
    t.equal(texts.splice(0).length, 2, 'even after a failure')

    end()
    clock.pass(5000)
    t.equal(texts.length, 0)
  }
)

t.test('the last success is a metric', async (t) => {
  const clock = stopClock(t, 'setInterval')
  let now = 1000
  t.intercept(Date, 'now', { value: () => now })
  let isDown = true
  const end = startPruningChanges(
    {
      statements: new Statements(),
      writeInBackground: () =>
        isDown ? Promise.reject(new Error('no database')) : Promise.resolve([])
    },
    silent
  )
  t.teardown(end)

  /** The metric after five seconds. */
  async function lastSuccessLater() {
    now += 5000
    clock.pass(5000)
    await setImmediate()
    return sample('housekeeping_last_success_timestamp_seconds{task="changes"}')
  }

  t.equal(await lastSuccessLater(), 1, 'its start, if it has failed since')
  isDown = false
  t.equal(await lastSuccessLater(), 11)
})
