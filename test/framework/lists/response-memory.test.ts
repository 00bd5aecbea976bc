import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { ResponseMemory } from '../../../src/framework/lists/response-memory.ts'
import { sample } from '../../support/metrics.ts'

const limit = 1_500_000
const timeout = 1000

const response = () => new ServerResponse(new IncomingMessage(new Socket()))

function mockTimers(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
}

t.test(
  'a body that responses share counts once, until the last of them has closed',
  (t) => {
    const memory = new ResponseMemory(limit, timeout)
    const reserveAnother = () => memory.reserveOwn(response(), 1_000_000)
    const body = { size: 1_000_000 }
    const responses = [response(), response()]
    for (const one of responses) memory.reserveShared(one, body)

    for (const one of responses) {
      t.throws(reserveAnother, { message: 'too many calls are waiting' })
      one.emit('close')
    }
    t.doesNotThrow(reserveAnother)
    t.end()
  }
)

t.test('the metrics show the memory and its limit', async (t) => {
  const memory = new ResponseMemory(limit, timeout)
  const bytes = async () => Number(await sample('response_memory_bytes'))
  const before = await bytes()
  const one = response()

  memory.reserveOwn(one, 1_000_000)
  t.equal((await bytes()) - before, 1_000_000)
  t.equal(await sample('response_memory_max_bytes'), limit)

  one.emit('close')
  t.equal(await bytes(), before)
})

t.test('a response that has closed reserves nothing', (t) => {
  const memory = new ResponseMemory(limit, timeout)
  const closed = response()
  closed.destroy()
  memory.reserveOwn(closed, 1_000_000)
  t.doesNotThrow(() => memory.reserveOwn(response(), 1_000_000))
  t.end()
})

t.test('64 KiB are neither counted nor limited in time', (t) => {
  mockTimers(t)
  const memory = new ResponseMemory(0, timeout)
  const small = response()
  memory.reserveShared(small, { size: 2 ** 16 })
  mock.timers.tick(timeout)
  t.notOk(small.destroyed)
  t.throws(() => memory.reserveOwn(response(), 2 ** 16 + 1))
  t.end()
})

t.test('a client that does not read 1 MiB in time is disconnected', (t) => {
  mockTimers(t)
  const memory = new ResponseMemory(limit, timeout)
  const slow = response()
  memory.reserveShared(slow, { size: 2 ** 20 })

  mock.timers.tick(timeout - 1)
  t.notOk(slow.destroyed)
  mock.timers.tick(1)
  t.ok(slow.destroyed)
  t.end()
})

t.test('a client that reads chunk by chunk stays connected', (t) => {
  mockTimers(t)
  const memory = new ResponseMemory(limit, timeout)
  const steady = response()
  const timer = memory.reserveShared(steady, { size: 2 ** 20 })

  for (let chunk = 0; chunk < 3; chunk++) {
    mock.timers.tick(timeout - 1)
    timer.restart()
  }

  t.notOk(steady.destroyed)
  t.end()
})

t.test('a client that waits for the service stays connected', (t) => {
  mockTimers(t)
  const memory = new ResponseMemory(limit, timeout)
  const waiting = response()
  const timer = memory.reserveShared(waiting, { size: 2 ** 20 })

  timer.pause()
  mock.timers.tick(10 * timeout)
  t.notOk(waiting.destroyed)

  timer.restart()
  mock.timers.tick(timeout)
  t.ok(waiting.destroyed)
  t.end()
})

t.test('no timeout starts for a response that has closed', (t) => {
  const memory = new ResponseMemory(limit, timeout)
  const closed = response()
  const timer = memory.reserveShared(closed, { size: 2 ** 20 })
  closed.destroy()
  closed.emit('close')

  mockTimers(t)
  let calls = 0
  closed.destroy = () => {
    calls++
    return closed
  }
  timer.restart()
  mock.timers.tick(timeout)

  t.equal(calls, 0)
  t.end()
})
