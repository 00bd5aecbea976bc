import { EventEmitter, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { removeOldRecords } from '../../src/creates/remove-old-records.ts'
import { stopClock } from '../support/clock.ts'

/** Rows of a deletion: the job goes on after a full batch. */
const fullBatch = Array<object>(1000).fill({})
const lastBatch = [{}]

const lost = () => Promise.reject(new Error('no database'))

/**
 * The job, on a clock that is stopped and a database that never prunes changes.
 */
function startJob(t: Test) {
  const clock = stopClock(t, 'setInterval')
  const counts = { prunings: 0, deletions: 0 }
  const database = {
    deleteKeys: () => Promise.resolve<object[]>(lastBatch),

    writeInBackground({ text }: { text: string }) {
      if (text.includes('prune_changes')) {
        counts.prunings++
        return lost()
      }
      counts.deletions++
      return this.deleteKeys()
    }
  }
  const stop = removeOldRecords(database, 24)

  /** Lets what has begun end, as far as it can. */
  async function settle() {
    for (let turn = 0; turn < 10; turn++) await setImmediate()
  }

  /** Returns what the job does in five seconds. */
  async function afterFiveSeconds() {
    counts.prunings = 0
    counts.deletions = 0
    clock.pass(5000)
    await settle()
    return { ...counts }
  }

  return { database, stop, settle, afterFiveSeconds }
}

t.test('old records are removed every five seconds', async (t) => {
  const { stop, afterFiveSeconds } = startJob(t)
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 1 })
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 1 })
  stop()
  t.same(await afterFiveSeconds(), { prunings: 0, deletions: 0 }, 'stopped')
})

t.test('a removal deletes one batch after the other', async (t) => {
  const { database, stop, afterFiveSeconds } = startJob(t)
  t.teardown(stop)
  const batches = [fullBatch, fullBatch]
  database.deleteKeys = () => Promise.resolve(batches.shift() ?? lastBatch)
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 3 })
})

t.test('a removal that fails is repeated the next time', async (t) => {
  const { database, stop, afterFiveSeconds } = startJob(t)
  t.teardown(stop)
  database.deleteKeys = lost
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 1 })
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 1 })
})

t.test('no removal starts while another one deletes keys', async (t) => {
  const { database, stop, settle, afterFiveSeconds } = startJob(t)
  t.teardown(stop)
  const deletion = new EventEmitter()
  database.deleteKeys = async () => {
    await once(deletion, 'end')
    return []
  }
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 1 })
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 0 })

  deletion.emit('end')
  await settle()
  t.same(await afterFiveSeconds(), { prunings: 1, deletions: 1 })
})
