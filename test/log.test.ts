import { closeSync, openSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { oneLine } from '../src/fail.ts'
import { createLogger } from '../src/log.ts'

async function logTo(t: Test, isTTY: boolean): Promise<string> {
  const file = `${t.testdir()}/log`
  const fd = openSync(file, 'w')
  const logger = createLogger('info', { fd, isTTY })
  logger.info({ status: 201 }, 'request')
  await new Promise((flushed) => logger.flush(flushed))
  closeSync(fd)
  return readFileSync(file, 'utf8')
}

t.test('the log is JSON, and readable on a terminal', async (t) => {
  t.match(JSON.parse(await logTo(t, false)), { level: 30, status: 201, msg: 'request' })
  t.match(await logTo(t, true), /INFO.*request/)
})

t.test('an error is said by its message, or by its code when it has none', (t) => {
  t.equal(oneLine(new Error('broken')), 'broken')
  t.equal(oneLine(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), 'ECONNREFUSED')
  t.end()
})
