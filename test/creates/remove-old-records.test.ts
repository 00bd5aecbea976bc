import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { removeOldRecords } from '../../src/creates/remove-old-records.ts'
import { stopClock } from '../support/clock.ts'

t.test(
  'old records are removed every five seconds until the service closes, even if a removal fails',
  async (t) => {
    const clock = stopClock(t, 'setInterval')
    let prunings = 0
    const full = () => Promise.resolve(Array<object>(1000).fill({}))
    const some = () => Promise.resolve([{}])
    const lost = () => Promise.reject(new Error('no database'))
    let end = () => {}
    const slow = () =>
      new Promise<object[]>((resolve) => (end = () => resolve([])))
    const batches = [full, full, some, lost, slow, full, some, some]
    const writeInBackground = ({ text }: { text: string }) => {
      if (!text.includes('prune_changes')) return (batches.shift() ?? some)()
      prunings++
      return lost()
    }
    const stop = removeOldRecords({ writeInBackground }, 24)
    const afterRemoval = async () => {
      clock.pass(5000)
      for (let turn = 0; turn < 10; turn++) await setImmediate()
      return { prunings, left: batches.length }
    }
    t.same(
      await afterRemoval(),
      { prunings: 1, left: 5 },
      'all expired keys, one batch after the other'
    )
    t.same(await afterRemoval(), { prunings: 2, left: 4 }, 'no database')
    t.same(
      await afterRemoval(),
      { prunings: 3, left: 3 },
      'a removal of keys takes longer'
    )
    t.same(
      await afterRemoval(),
      { prunings: 4, left: 3 },
      'no other one starts beside it'
    )
    end()
    await setImmediate()
    t.same(await afterRemoval(), { prunings: 5, left: 1 })
    stop()
    t.same(await afterRemoval(), { prunings: 5, left: 1 }, 'stopped')
  }
)
