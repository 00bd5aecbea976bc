import { EventEmitter, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startRemovingExpiredIdempotencyKeys } from '../../../src/framework/creates/expired-idempotency-keys.ts'
import { Statements } from '../../../src/framework/postgres/statements.ts'
import { stopClock } from '../../support/clock.ts'
import { silent } from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'

/** Rows of a deletion: the job goes on after a full batch. */
const fullBatch = Array<object>(500).fill({})
const lastBatch = [{}]

const lost = () => Promise.reject(new Error('no database'))

/** The job, on a clock that is stopped. */
function startJob(t: Test) {
  const clock = stopClock(t)
  let deletions = 0
  const database = {
    statements: new Statements(),

    deleteKeys: () => Promise.resolve<object[]>(lastBatch),

    writeInBackground() {
      deletions++
      return this.deleteKeys()
    }
  }

  const end = startRemovingExpiredIdempotencyKeys(database, 24, silent)
  t.teardown(end)

  /** Lets a removal that has begun end, or go on as far as it can. */
  async function settle() {
    for (let tick = 0; tick < 10; tick++) await setImmediate()
  }

  /** Returns how many statements the job runs in five seconds. */
  async function afterFiveSeconds() {
    deletions = 0
    clock.pass(5000)
    await settle()
    return deletions
  }

  /** Ends the first removal. */
  async function afterStart() {
    await settle()
    return deletions
  }

  return { database, end, settle, afterStart, afterFiveSeconds }
}

t.test(
  'expired keys are removed immediately, and every five seconds until the end',
  async (t) => {
    const { end, afterStart, afterFiveSeconds } = startJob(t)
    t.equal(await afterStart(), 1)
    t.equal(await afterFiveSeconds(), 1)
    t.equal(await afterFiveSeconds(), 1)
    end()
    t.equal(await afterFiveSeconds(), 0)
  }
)

t.test('the last success is a metric', async (t) => {
  let now = 1000
  t.intercept(Date, 'now', { value: () => now })
  const lastSuccess = () =>
    sample(
      'housekeeping_last_success_timestamp_seconds{task="idempotency_keys"}'
    )
  const { database, afterStart, afterFiveSeconds } = startJob(t)
  await afterStart()

  now = 6000
  database.deleteKeys = lost
  await afterFiveSeconds()
  t.equal(await lastSuccess(), 1)

  now = 11_000
  database.deleteKeys = () => Promise.resolve(lastBatch)
  await afterFiveSeconds()
  t.equal(await lastSuccess(), 11)
})

t.test('a removal deletes one batch after the other', async (t) => {
  const { database, afterStart, afterFiveSeconds } = startJob(t)
  await afterStart()
  const batches = [fullBatch, fullBatch]
  database.deleteKeys = () => Promise.resolve(batches.shift() ?? lastBatch)
  t.equal(await afterFiveSeconds(), 3)
})

t.test('a removal that fails is repeated the next time', async (t) => {
  const { database, afterStart, afterFiveSeconds } = startJob(t)
  await afterStart()
  database.deleteKeys = lost
  t.equal(await afterFiveSeconds(), 1)
  t.equal(await afterFiveSeconds(), 1)
})

t.test('no removal starts while another one deletes keys', async (t) => {
  const { database, settle, afterStart, afterFiveSeconds } = startJob(t)
  await afterStart()
  const deletion = new EventEmitter()
  database.deleteKeys = async () => {
    await once(deletion, 'end')
    return []
  }
  t.equal(await afterFiveSeconds(), 1)
  t.equal(await afterFiveSeconds(), 0)

  deletion.emit('end')
  await settle()
  t.equal(await afterFiveSeconds(), 1)
})
