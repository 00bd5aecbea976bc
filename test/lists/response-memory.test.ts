import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { ResponseMemory } from '../../src/lists/response-memory.ts'

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
    const reserveAnother = () => memory.reserve(response(), 1_000_000)
    const body = { size: 1_000_000 }
    const responses = [response(), response()]
    for (const one of responses) memory.reserveOnce(one, body)
    for (const one of responses) {
      t.throws(reserveAnother, { message: 'too many calls are waiting' })
      one.emit('close')
    }
    t.doesNotThrow(reserveAnother)
    t.end()
  }
)

t.test('a response that has closed reserves nothing', (t) => {
  const memory = new ResponseMemory(limit, timeout)
  const closed = response()
  closed.destroy()
  memory.reserve(closed, 1_000_000)
  t.doesNotThrow(() => memory.reserve(response(), 1_000_000))
  t.end()
})

t.test('64 KiB are neither counted nor limited in time', (t) => {
  mockTimers(t)
  const memory = new ResponseMemory(0, timeout)
  const small = response()
  memory.reserveOnce(small, { size: 2 ** 16 })
  mock.timers.tick(timeout)
  t.notOk(small.destroyed)
  t.throws(() => memory.reserve(response(), 2 ** 16 + 1))
  t.end()
})

t.test('a client that does not read 1 MiB in time is disconnected', (t) => {
  mockTimers(t)
  const memory = new ResponseMemory(limit, timeout)
  const slow = response()
  memory.reserveOnce(slow, { size: 2 ** 20 })
  mock.timers.tick(timeout - 1)
  t.notOk(slow.destroyed)
  mock.timers.tick(1)
  t.ok(slow.destroyed)
  t.end()
})

t.test('a client that reads chunk by chunk stays connected', (t) => {
  // The mocked timer of Node.js cannot be refreshed.
  const memory = new ResponseMemory(limit, 200)
  const steady = response()
  const onRead = memory.reserveOnce(steady, { size: 2 ** 20 })
  const reading = setInterval(onRead, 20)
  setTimeout(() => {
    clearInterval(reading)
    t.notOk(steady.destroyed)
    t.end()
  }, 500)
})
