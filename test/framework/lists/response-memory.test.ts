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

    memory.hold(Buffer.alloc(2 ** 16), response())
    const closed = response()
    closed.destroy()
    memory.hold(body(), closed)
    t.equal(await held(), 0, 'neither 64 KiB nor a closed response count')
  }
)

t.test(
  'the readers of the oldest body leave when a new one needs room',
  async (t) => {
    const memory = new ResponseMemory(limit)
    const [oldest, second, third, fourth] = [0, 1, 2, 3].map(response)
    const current = body()
    memory.hold(current, oldest!)
    memory.hold(body(), second!)
    t.throws(() => memory.hold(Buffer.alloc(limit + 1), response()), {
      message: 'too many calls are waiting'
    })
    t.notOk(oldest?.destroyed, 'a body beyond the limit closes nothing')

    memory.hold(body(), third!)
    t.ok(oldest?.destroyed)
    t.notOk(second?.destroyed)

    memory.hold(current, fourth!)
    t.ok(second?.destroyed)
    oldest?.emit('close')
    t.equal(await held(), 2_000_000, 'what is held again stays counted')
  }
)
