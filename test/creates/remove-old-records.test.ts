import { EventEmitter, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import pg, { type QueryConfig } from 'pg'
import t, { type Test } from 'tap'
import { removeOldRecords } from '../../src/creates/remove-old-records.ts'
import { Unavailable } from '../../src/postgres/outcomes.ts'
import { Statements } from '../../src/postgres/statements.ts'
import { stopClock } from '../support/clock.ts'
import { sample } from '../support/metrics.ts'

/** Rows of a deletion: the job goes on after a full batch. */
const fullBatch = Array<object>(1000).fill({})
const lastBatch = [{}]

/** The error of a statement that took longer than its time limit. */
function cancelled(): Unavailable {
  const cause = new pg.DatabaseError('canceling statement', 0, 'error')
  return new Unavailable(Object.assign(cause, { code: '57014' }))
}

const lost = () => Promise.reject(new Error('no database'))

/**
 * The job, on a clock that is stopped and a database that never prunes changes.
 */
function startJob(t: Test) {
  const clock = stopClock(t, 'setInterval')
  const counts = { prunings: 0, deletions: 0 }
  const database = {
    statements: new Statements(),

    deleteKeys: (size: unknown) =>
      Promise.resolve<object[]>(lastBatch.slice(0, Number(size))),

    writeInBackground({ text, values = [] }: QueryConfig<unknown[]>) {
      if (text.includes('prune_changes')) {
        counts.prunings++
        return lost()
      }
      counts.deletions++
      const [, size] = values
      return this.deleteKeys(size)
    }
  }
  const stop = removeOldRecords(database, 24)

  /** Lets what has begun end, as far as it can. */
  async function settle() {
    for (let tick = 0; tick < 10; tick++) await setImmediate()
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

t.test('the last success of each task is a metric', async (t) => {
  let now = 1000
  t.intercept(Date, 'now', { value: () => now })
  const lastSuccess = (task: string) =>
    sample(`housekeeping_last_success_timestamp_seconds{task="${task}"}`)
  const { stop, afterFiveSeconds } = startJob(t)
  t.teardown(stop)

  now = 6000
  await afterFiveSeconds()

  t.equal(await lastSuccess('idempotency_keys'), 6)
  t.equal(await lastSuccess('changes'), 1, 'it has failed since its start')
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

t.test(
  'after a timeout, batches are half as large until all keys are removed',
  async (t) => {
    const { database, stop, afterFiveSeconds } = startJob(t)
    t.teardown(stop)
    const sizes: unknown[] = []
    let expired = 600
    database.deleteKeys = (size) => {
      sizes.push(size)
      if (Number(size) > 250) return Promise.reject(cancelled())

      const deleted = Math.min(expired, Number(size))
      expired -= deleted
      return Promise.resolve(Array<object>(deleted).fill({}))
    }

    await afterFiveSeconds()
    await afterFiveSeconds()
    t.same(sizes, [1000, 500])

    await afterFiveSeconds()
    t.same(sizes.splice(2), [250, 250, 250])
    t.equal(expired, 0)

    await afterFiveSeconds()
    t.same(sizes.splice(2), [1000], 'then they are as large as before')
  }
)

t.test('another failure does not change the size of batches', async (t) => {
  const { database, stop, afterFiveSeconds } = startJob(t)
  t.teardown(stop)
  const sizes: unknown[] = []
  database.deleteKeys = (size) => {
    sizes.push(size)
    return lost()
  }

  await afterFiveSeconds()
  await afterFiveSeconds()

  t.same(sizes, [1000, 1000])
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
