// What lists.test.ts cannot make happen.
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { ResponseMemory } from '../../../src/framework/lists/response-memory.ts'
import { Metrics } from '../../../src/framework/metrics.ts'
import { sample } from '../../support/metrics.ts'

const limit = 2_500_000

const response = () => new ServerResponse(new IncomingMessage(new Socket()))
const body = () => Buffer.alloc(1_000_000)

t.test('only bodies that clients have yet to read are counted', async (t) => {
  const metrics = new Metrics()
  const held = () => sample({ metrics }, 'response_memory_bytes')
  const memory = new ResponseMemory(limit, metrics)
  const closed = response()
  closed.destroy()
  memory.hold(body(), closed)
  t.equal(await held(), 0)

  const [oldest, second, third, fourth] = [0, 1, 2, 3].map(response)
  const current = body()
  memory.hold(current, oldest!)
  memory.hold(body(), second!)
  t.throws(() => memory.hold(Buffer.alloc(limit + 1), response()), {
    message: 'The list is too long for this service: ask its operator'
  })
  t.notOk(oldest?.destroyed, 'a body beyond the limit closes nothing')

  memory.hold(body(), third!)
  t.ok(oldest?.destroyed)
  t.notOk(second?.destroyed)

  memory.hold(current, fourth!)
  t.ok(second?.destroyed)
  oldest?.emit('close')
  t.equal(await held(), 2_000_000, 'what is held again stays counted')
})
