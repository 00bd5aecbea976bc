import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { FairQueue } from '../../../src/framework/creates/fair-queue.ts'
import { hold } from '../../support/hold.ts'
import { until } from '../../support/until.ts'

const overloaded = { status: 'rejected', reason: { code: 'overloaded' } }

/** A queue that rejects nothing of these tests. */
const patientQueue = (maxRunning: number) =>
  new FairQueue({ maxRunning, maxQueued: 10, maxWaitMs: 60_000 })

t.test('each client has one statement at a time', async (t) => {
  const queue = patientQueue(2)

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
  const queue = patientQueue(1)
  const fail = () => Promise.reject(new Error('failed'))

  await t.rejects(queue.run('a', fail), { message: 'failed' })
  t.equal(await queue.run('a', () => Promise.resolve(1)), 1)
})

t.test('clients with many statements do not keep others waiting', async (t) => {
  const queue = patientQueue(2)

  const order: string[] = []
  const releases = new Map<string, () => void>()
  const run = (client: string, name: string) =>
    queue.run(client, () => {
      const { held, release } = hold()
      order.push(name)
      releases.set(name, release)
      return held
    })
  const end = async (name: string) => {
    releases.get(name)?.()
    await setImmediate()
  }

  const all = [run('a', 'a1'), run('c', 'c1')]
  all.push(run('a', 'a2'), run('c', 'c2'), run('a', 'a3'), run('b', 'b1'))
  t.same(order, ['a1', 'c1'])

  await end('a1')
  await end('c1')
  await end('a2')
  t.same(order, ['a1', 'c1', 'a2', 'c2', 'b1'])

  for (const name of ['c2', 'b1', 'a3']) await end(name)
  await Promise.all(all)
  t.equal(order.at(-1), 'a3')
})
