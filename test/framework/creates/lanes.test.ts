// The parts of the lanes, with a writer that needs no PostgreSQL.
import pg from 'pg'
import t from 'tap'
import {
  type GroupWriter,
  Lanes
} from '../../../src/framework/creates/lanes.ts'
import { GroupTimedOut } from '../../../src/framework/postgres/failures.ts'
import { WriteTurns } from '../../../src/framework/creates/write-turns.ts'
import { hold } from '../../support/hold.ts'
import { until } from '../../support/until.ts'

const overloaded = { status: 'rejected', reason: { code: 'overloaded' } }

const badValue = Object.assign(new pg.DatabaseError('bad', 3, 'error'), {
  code: '22000'
})

const echo = (rows: number[]) => Promise.resolve(rows)
const exceed = () => Promise.reject(new GroupTimedOut(new Error('slow')))

const numbers = (count: number) =>
  Array.from({ length: count }, (_, index) => index)

/** Milliseconds that a row may wait for its turn. */
const maxWaitMs = 60_000

/** A row that exceeds the timeout of each group. */
const slow = -1
/** A row that PostgreSQL rejects. */
const bad = -2

/** Lanes for numbers: each row is its own result. */
function lanesWith({
  commit = echo,
  commitWithinGroupTimeout = echo
}: Partial<GroupWriter<number, number>>) {
  const turns = new WriteTurns(maxWaitMs)
  const writer = { commit, commitWithinGroupTimeout }
  const lanes = new Lanes(writer, turns, maxWaitMs)

  const submitAll = (rows: number[], client = 'client') =>
    Promise.all(rows.map((row) => lanes.submit(row, client)))

  return { turns, lanes, submitAll }
}

/** Writes groups that have no slow row. */
const exceedWithSlow = (rows: number[]) =>
  rows.includes(slow) ? exceed() : echo(rows)

/** A `commit` that returns when it is released, and records its rows. */
function heldCommit() {
  const { held, release } = hold()
  const alone: number[][] = []

  const commit = async (rows: number[]) => {
    alone.push(rows)
    await held
    return rows
  }

  const begun = () => until(() => alone.length > 0, 'the slow row is alone')

  return { alone, commit, begun, release }
}

t.test('a group timeout that does not help is lifted', async (t) => {
  let cancelled = 0
  const { submitAll } = lanesWith({
    commitWithinGroupTimeout: () => {
      cancelled++
      return exceed()
    }
  })
  const rows = numbers(250)

  t.same(await submitAll(rows), rows)
  t.same(await submitAll(rows), rows)
  t.equal(cancelled, 8)
})

t.test('a slow row is alone after three cancelled statements', async (t) => {
  const { alone, commit, release } = heldCommit()
  release()
  const cancelledSizes: number[] = []
  const { submitAll } = lanesWith({
    commit,
    commitWithinGroupTimeout: (rows) => {
      if (rows.includes(slow)) cancelledSizes.push(rows.length)
      return exceedWithSlow(rows)
    }
  })
  const rows = [...numbers(249), slow]

  t.same(await submitAll(rows), rows)
  t.same(alone, [[slow]])
  // 250 = 15 × 16 + 10: the slow row is in the last group of suspects, of 10.
  // It is split into 3, 3, 3 and 1.
  t.same(cancelledSizes, [250, 10, 1])
})

t.test('a slow row is found before its turn is too late', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })

  const { alone, commit, release } = heldCommit()
  release()
  const { submitAll } = lanesWith({
    commit,
    commitWithinGroupTimeout: (rows) => {
      if (rows.includes(slow)) now += maxWaitMs / 20
      return exceedWithSlow(rows)
    }
  })
  const rows = [...numbers(15), slow]

  t.same(await submitAll(rows), rows)
  t.same(alone, [[slow]])
})

t.test('further rows of a slow client delay no others', async (t) => {
  const quick = 2
  const cancelled: number[][] = []
  const { commit, release } = heldCommit()
  const { lanes, turns } = lanesWith({
    commit,
    commitWithinGroupTimeout: (rows) => {
      if (rows.includes(slow)) cancelled.push(rows)
      return exceedWithSlow(rows)
    }
  })

  const first = lanes.submit(slow, 'a')
  await until(() => turns.slowRowTurns.has('a'), 'the slow row is alone')
  cancelled.length = 0

  const further = lanes.submit(slow, 'a')
  t.equal(await lanes.submit(quick, 'b'), quick)
  release()

  t.same(await Promise.all([first, further]), [slow, slow])
  t.same(cancelled, [[slow]], 'no other row shared its statement')
})

t.test('a group of suspects has rows of one client', async (t) => {
  const groups: number[][] = []
  const { lanes } = lanesWith({
    commitWithinGroupTimeout: (rows) => {
      if (rows.length > 16) return exceed()
      groups.push(rows)
      return echo(rows)
    }
  })
  const clientOf = (row: number) => (row % 2 === 0 ? 'a' : 'b')
  const rows = numbers(40)

  await Promise.all(rows.map((row) => lanes.submit(row, clientOf(row))))
  t.equal(groups.flat().length, rows.length)
  for (const group of groups) t.equal(new Set(group.map(clientOf)).size, 1)
})

t.test('a suspect that PostgreSQL rejects fails alone', async (t) => {
  const { commit, begun, release } = heldCommit()
  const { lanes } = lanesWith({
    commit,
    commitWithinGroupTimeout: (rows) =>
      rows.includes(bad) ? Promise.reject(badValue) : exceedWithSlow(rows)
  })

  const slowResult = lanes.submit(slow, 'client')
  await begun()

  const suspects = [1, bad, 3].map((row) => lanes.submit(row, 'client'))
  t.match(await Promise.allSettled(suspects), [
    { value: 1 },
    { reason: badValue },
    { value: 3 }
  ])

  release()
  t.equal(await slowResult, slow)
})

t.test('suspects beyond their number reject as overload', async (t) => {
  const { commit, begun, release } = heldCommit()
  const { lanes } = lanesWith({
    commit,
    commitWithinGroupTimeout: exceedWithSlow
  })

  // While the client has a slow row, its others become suspects immediately.
  const slowResult = lanes.submit(slow, 'client')
  await begun()

  const suspects = await Promise.allSettled(
    numbers(1001).map((row) => lanes.submit(row, 'client'))
  )
  const rejected = suspects.filter(({ status }) => status === 'rejected')
  t.match(rejected, [overloaded])
  t.equal(rejected.length, 1)

  release()
  t.equal(await slowResult, slow)
})

t.test('a slow row without a result rejects', async (t) => {
  const { lanes } = lanesWith({
    commit: () => Promise.resolve([]),
    commitWithinGroupTimeout: exceed
  })

  await t.rejects(lanes.submit(slow, 'client'), {
    message: 'a row had no result'
  })
})
