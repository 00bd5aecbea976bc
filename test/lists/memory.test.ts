import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { responseMemory } from '../../src/lists/response-memory.ts'

const response = () => new ServerResponse(new IncomingMessage(new Socket()))

t.test(
  'a body that responses share counts once, until the last of them has closed',
  (t) => {
    const memory = responseMemory(1_000_000, 1)
    const [first, second, gone] = [response(), response(), response()]
    gone.destroy()
    memory.hold(gone, { size: 600_000 })
    const shared = { size: 600_000 }
    for (const one of [first, second]) memory.hold(one, shared)
    const holdAnother = () => memory.hold(response(), { size: 600_000 })
    for (const one of [first, second]) {
      t.throws(holdAnother, { message: 'too many calls are waiting' })
      one.emit('close')
    }
    t.doesNotThrow(holdAnother)
    t.end()
  }
)
