import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { responseMemory } from '../../src/sharing/response-memory.ts'

const response = () => new ServerResponse(new IncomingMessage(new Socket()))

t.test('a body that responses share is counted once, until the last of them has closed', (t) => {
  const memory = responseMemory({ RESPONSE_MEMORY: 1_000_000, ANSWER_TIMEOUT: 1 })
  const [shared, other] = [{ size: 600_000 }, { size: 600_000 }]
  const [first, second] = [response(), response()]
  memory.hold(first, shared)
  memory.hold(second, shared)
  const hold = () => memory.hold(response(), other)
  t.throws(hold, { message: 'too many calls are waiting' })
  first.emit('close')
  t.throws(hold, { message: 'too many calls are waiting' })
  second.emit('close')
  t.doesNotThrow(hold)
  t.end()
})

t.test('a response whose client has disconnected holds nothing', (t) => {
  const memory = responseMemory({ RESPONSE_MEMORY: 1_000_000, ANSWER_TIMEOUT: 1 })
  const gone = response()
  gone.destroy()
  memory.hold(gone, { size: 600_000 })
  t.doesNotThrow(() => memory.hold(response(), { size: 600_000 }))
  t.end()
})
