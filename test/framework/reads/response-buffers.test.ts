import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { ResponseBuffers } from '../../../src/framework/reads/response-buffers.ts'
import { Metrics } from '../../../src/framework/metrics.ts'
import { sample } from '../../support/metrics.ts'

const megabyte = 1_000_000
const body = () => Buffer.alloc(megabyte)
const reader = (method = 'GET') =>
  new ServerResponse(
    Object.assign(new IncomingMessage(new Socket()), { method })
  )

/** Buffers for two bodies, but not for three. */
function start() {
  const metrics = new Metrics()
  const memory = new ResponseBuffers(2.5 * megabyte, metrics)
  const held = async () =>
    Number(await sample({ metrics }, 'response_buffer_ratio')) * memory.limit
  return { memory, held }
}

t.test(
  'a body that is not sent is not counted: HEAD, or a lost client',
  async (t) => {
    const { memory, held } = start()
    const gone = reader()
    gone.req.socket.destroy()
    for (const response of [gone, reader('HEAD')])
      memory.track(body(), response)
    t.equal(await held(), 0)
  }
)

t.test('a response that never closes ends with its connection', async (t) => {
  const { memory, held } = start()
  const queued = reader()
  const listeners = () => queued.req.socket.listenerCount('close')
  const before = listeners()
  memory.track(body(), queued)
  t.equal(await held(), megabyte)

  queued.req.socket.emit('close')
  t.equal(await held(), 0)
  memory.track(body(), queued)
  queued.emit('close')
  t.equal(await held(), 0)
  t.equal(listeners(), before, 'connections keep nothing of their responses')
})

t.test(
  'a third body closes the readers of that which was sent least recently',
  async (t) => {
    const { memory, held } = start()
    const steady = body()
    const [first, slow, newest] = [reader(), reader(), reader()]
    memory.track(steady, first)
    memory.track(body(), slow)
    memory.track(steady, newest)
    t.notOk(slow.req.socket.destroyed)

    memory.track(body(), reader())
    t.ok(slow.req.socket.destroyed)
    t.notOk(first.req.socket.destroyed)
    t.notOk(newest.req.socket.destroyed)
    t.equal(await held(), 2 * megabyte)
  }
)

t.test('a body that is sent again after its readers were closed', async (t) => {
  const { memory, held } = start()
  const sentAgain = body()
  const closed = reader()
  memory.track(sentAgain, closed)
  for (const next of [body(), body()]) memory.track(next, reader())
  t.ok(closed.req.socket.destroyed)

  memory.track(sentAgain, reader())
  closed.emit('close')
  t.equal(await held(), 2 * megabyte, 'it stays counted')
})
