import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { ResponseMemory } from '../../../src/framework/lists/response-memory.ts'
import { sample } from '../../support/metrics.ts'

const limit = 2_500_000

const response = () => new ServerResponse(new IncomingMessage(new Socket()))
const body = () => Buffer.alloc(1_000_000)
const held = () => sample('response_memory_bytes')

t.test(
  'a body counts once, until the last of its readers has closed',
  async (t) => {
    const memory = new ResponseMemory(limit)
    const shared = body()
    const readers = [response(), response()]
    for (const reader of readers) memory.hold(shared, reader)

    for (const reader of readers) {
      t.equal(await held(), 1_000_000)
      reader.emit('close')
    }
    t.equal(await held(), 0)
    t.equal(await sample('response_memory_max_bytes'), limit)
  }
)

t.test(
  'the readers of the oldest body leave when a new one needs room',
  async (t) => {
    const memory = new ResponseMemory(limit)
    const [oldest, reader, newest] = [response(), response(), response()]
    const kept = body()
    memory.hold(body(), oldest)
    memory.hold(kept, reader)
    memory.hold(body(), newest)

    t.ok(oldest.destroyed)
    t.notOk(reader.destroyed)
    oldest.emit('close')
    t.equal(await held(), 2_000_000)
  }
)

t.test(
  'a body that is held again after an eviction stays counted',
  async (t) => {
    const memory = new ResponseMemory(limit)
    const [evicted, reader] = [response(), response()]
    const current = body()
    memory.hold(current, evicted)
    memory.hold(body(), response())
    memory.hold(body(), response())
    t.ok(evicted.destroyed)

    memory.hold(current, reader)
    evicted.emit('close')
    t.equal(await held(), 2_000_000)
  }
)

t.test('a body beyond the limit is rejected, and closes nothing', (t) => {
  const memory = new ResponseMemory(limit)
  const reader = response()
  memory.hold(body(), reader)
  t.throws(() => memory.hold(Buffer.alloc(limit + 1), response()), {
    message: 'too many calls are waiting'
  })
  t.notOk(reader.destroyed)
  t.end()
})

t.test('neither 64 KiB nor a closed response count', async (t) => {
  const before = await held()
  const memory = new ResponseMemory(0)
  memory.hold(Buffer.alloc(2 ** 16), response())
  const closed = response()
  closed.destroy()
  memory.hold(body(), closed)
  t.equal(await held(), before)
})
