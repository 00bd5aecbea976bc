import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { responseMemory } from '../../src/http/memory.ts'

const response = () => new ServerResponse(new IncomingMessage(new Socket()))

t.test('what several responses hold is counted once, until the last of them has ended', (t) => {
  const memory = responseMemory(100)
  const [shared, other] = [Buffer.alloc(60), Buffer.alloc(60)]
  const [first, second] = [response(), response()]
  memory.hold(shared, first)
  memory.hold(shared, second)
  const hold = () => memory.hold(other, response())
  t.throws(hold, { message: 'too much is waiting' })
  first.emit('close')
  t.throws(hold, { message: 'too much is waiting' })
  second.emit('close')
  t.doesNotThrow(hold)
  t.end()
})

t.test('a response whose client has gone holds nothing', (t) => {
  const memory = responseMemory(100)
  const gone = response()
  gone.destroy()
  memory.hold(Buffer.alloc(60), gone)
  t.doesNotThrow(() => memory.hold(Buffer.alloc(60), response()))
  t.end()
})
