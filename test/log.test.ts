import { PassThrough } from 'node:stream'
import t from 'tap'
import { oneLine } from '../src/fail.ts'
import { createLogger } from '../src/log.ts'

function logTo(isTTY: boolean): string {
  const output = Object.assign(new PassThrough(), { isTTY })
  createLogger('info', output).info({ status: 201 }, 'request')
  return String(output.read())
}

t.test('the log is JSON, and readable on a terminal', (t) => {
  t.match(JSON.parse(logTo(false)), { level: 30, status: 201, msg: 'request' })
  t.match(logTo(true), /INFO.*request/)
  t.end()
})

t.test('an error is said by its message, or by its code when it has none', (t) => {
  t.equal(oneLine(new Error('broken')), 'broken')
  t.equal(oneLine(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), 'ECONNREFUSED')
  t.end()
})
