// The parts of the lanes, with a writer that needs no PostgreSQL.
import pg from 'pg'
import t from 'tap'
import { Lanes } from '../../src/creates/lanes.ts'
import { FairQueue } from '../../src/creates/fair-queue.ts'
import { TimeLimitExceeded } from '../../src/postgres/outcomes.ts'
import { WriteTurns } from '../../src/creates/write-turns.ts'
import { until } from '../support/until.ts'

const overloaded = { status: 'rejected', reason: { code: 'overloaded' } }

const badValue = Object.assign(new pg.DatabaseError('bad', 3, 'error'), {
  code: '22000'
})

const echo = (rows: number[]) => Promise.resolve(rows)
const exceed = () => Promise.reject(new TimeLimitExceeded(new Error('slow')))

const numbers = (count: number) =>
  Array.from({ length: count }, (_, index) => index)

/** A promise with the function that resolves it. */
function hold() {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })

  return { held, release: () => release() }
}

t.test('a limit that does not help is lifted', async (t) => {
  let cancelled = 0
  const commitWithinLimit = () => {
    cancelled++
    return exceed()
  }
  const lanes = new Lanes(
    { commit: echo, commitWithinLimit },
    new WriteTurns(60_000),
    60_000
  )
  const writeAll = () =>
    Promise.all(numbers(250).map((row) => lanes.submit(row, 'client')))

  t.same(await writeAll(), numbers(250))
  t.same(await writeAll(), numbers(250))
  t.equal(cancelled, 8)
})

t.test('a slow row is alone after three cancelled statements', async (t) => {
  const sizes: number[] = []
  const commitWithinLimit = (rows: number[]) => {
    if (!rows.includes(249)) return echo(rows)
    sizes.push(rows.length)
    return exceed()
  }
  const alone: number[][] = []
  const commit = (rows: number[]) => {
    alone.push(rows)
    return echo(rows)
  }
  const lanes = new Lanes(
    { commit, commitWithinLimit },
    new WriteTurns(60_000),
    60_000
  )
  const rows = numbers(250)

  t.same(await Promise.all(rows.map((row) => lanes.submit(row, 'a'))), rows)
  t.same(alone, [[249]])
  t.same(sizes, [250, 10, 1])
})

t.test('a slow row is found within a long timeout', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })

  const timeout = 60_000
  const commitWithinLimit = (rows: number[]) => {
    if (!rows.includes(15)) return echo(rows)
    now += timeout / 20
    return exceed()
  }
  const alone: number[][] = []
  const commit = (rows: number[]) => {
    alone.push(rows)
    return echo(rows)
  }
  const lanes = new Lanes(
    { commit, commitWithinLimit },
    new WriteTurns(timeout),
    timeout
  )
  const rows = numbers(16)

  t.same(await Promise.all(rows.map((row) => lanes.submit(row, 'a'))), rows)
  t.same(alone, [[15]])
})

t.test('further rows of a slow client delay no others', async (t) => {
  const slow = 1
  const quick = 2
  const cancelled: number[][] = []
  const commitWithinLimit = (rows: number[]) => {
    if (!rows.includes(slow)) return echo(rows)
    cancelled.push(rows)
    return exceed()
  }
  const { held, release } = hold()
  const commit = (rows: number[]) => held.then(() => rows)
  const turns = new WriteTurns(60_000)
  const lanes = new Lanes({ commit, commitWithinLimit }, turns, 60_000)

  const first = lanes.submit(slow, 'a')
  await until(() => turns.slowRows.has('a'), 'the slow row is alone')
  cancelled.length = 0

  const further = lanes.submit(slow, 'a')
  t.equal(await lanes.submit(quick, 'b'), quick)
  release()
  t.same(await Promise.all([first, further]), [slow, slow])
  t.same(cancelled, [[slow]], 'no other row shared its statement')
})

t.test('suspects share statements with none of other clients', async (t) => {
  const groups: number[][] = []
  const commitWithinLimit = (rows: number[]) => {
    if (rows.length > 16) return exceed()
    groups.push(rows)
    return echo(rows)
  }
  const lanes = new Lanes(
    { commit: echo, commitWithinLimit },
    new WriteTurns(60_000),
    60_000
  )
  const clientOf = (row: number) => (row % 2 === 0 ? 'a' : 'b')
  const rows = numbers(40)

  await Promise.all(rows.map((row) => lanes.submit(row, clientOf(row))))
  t.equal(groups.flat().length, rows.length)
  for (const group of groups) t.equal(new Set(group.map(clientOf)).size, 1)
})

t.test('a suspect that PostgreSQL rejects fails alone', async (t) => {
  const { held, release } = hold()
  let isAlone = false
  const commit = async (rows: number[]) => {
    isAlone = true
    await held
    return rows
  }
  const commitWithinLimit = (rows: number[]) => {
    if (rows.includes(-1)) return exceed()
    if (rows.includes(-2)) return Promise.reject(badValue)
    return echo(rows)
  }
  const lanes = new Lanes(
    { commit, commitWithinLimit },
    new WriteTurns(60_000),
    60_000
  )

  const slow = lanes.submit(-1, 'client')
  await until(() => isAlone, 'the slow row is alone')

  const suspects = [1, -2, 3].map((row) => lanes.submit(row, 'client'))
  t.match(await Promise.allSettled(suspects), [
    { value: 1 },
    { reason: badValue },
    { value: 3 }
  ])

  release()
  t.equal(await slow, -1)
})

t.test('suspects beyond their number reject as overload', async (t) => {
  const { held, release } = hold()
  let isAlone = false
  const commit = async (rows: number[]) => {
    isAlone = true
    await held
    return rows
  }
  const commitWithinLimit = (rows: number[]) =>
    rows.includes(-1) ? exceed() : echo(rows)
  const lanes = new Lanes(
    { commit, commitWithinLimit },
    new WriteTurns(60_000),
    60_000
  )

  // While the client has a slow row, its others are suspects at once.
  const slow = lanes.submit(-1, 'client')
  await until(() => isAlone, 'the slow row is alone')

  const suspects = await Promise.allSettled(
    numbers(1001).map((row) => lanes.submit(row, 'client'))
  )
  const rejected = suspects.filter(({ status }) => status === 'rejected')
  t.match(rejected, [overloaded])
  t.equal(rejected.length, 1)

  release()
  t.equal(await slow, -1)
})

t.test('a slow row without a result rejects', async (t) => {
  const commit = () => Promise.resolve([])
  const lanes = new Lanes(
    { commit, commitWithinLimit: exceed },
    new WriteTurns(60_000),
    60_000
  )

  await t.rejects(lanes.submit(1, 'client'), {
    message: 'a row had no result'
  })
})

t.test('each client has one statement at a time', async (t) => {
  const queue = new FairQueue({
    maxRunning: 2,
    maxQueued: 10,
    maxWaitMs: 60_000
  })
  const order: string[] = []
  const { held, release } = hold()
  const run = (client: string, name: string) =>
    queue.run(client, async () => {
      order.push(name)
      await held
      return name
    })

  const all = [run('a', 'a1'), run('a', 'a2'), run('b', 'b1'), run('c', 'c1')]
  t.same(order, ['a1', 'b1'])
  t.ok(queue.has('a'))
  t.ok(queue.has('c'))
  t.notOk(queue.has('d'))

  release()
  t.same(await Promise.all(all), ['a1', 'a2', 'b1', 'c1'])
  await until(() => !queue.has('a'), 'no statement runs')
})

t.test(
  'a queue rejects statements that are too many or too late',
  async (t) => {
    let now = 0
    t.intercept(performance, 'now', { value: () => now })

    const queue = new FairQueue({
      maxRunning: 1,
      maxQueued: 1,
      maxWaitMs: 1000
    })
    const { held, release } = hold()
    const running = queue.run('a', () => held)
    const others = Promise.allSettled([
      queue.run('b', () => held),
      queue.run('c', () => held)
    ])

    now = 2000
    release()
    await running
    t.match(await others, [overloaded, overloaded])
  }
)

t.test('the error of a statement does not end the queue', async (t) => {
  const queue = new FairQueue({
    maxRunning: 1,
    maxQueued: 9,
    maxWaitMs: 60_000
  })
  const fail = () => Promise.reject(new Error('failed'))

  await t.rejects(queue.run('a', fail), { message: 'failed' })
  t.equal(await queue.run('a', () => Promise.resolve(1)), 1)
})
