import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Availability } from '../../../src/framework/postgres/availability.ts'
import { recorder } from '../../support/recorder.ts'

const cause = new Error('no database')

/** The availability for reads, with a clock that the test moves. */
function start(t: Test) {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const { lines, log } = recorder()

  return {
    availability: new Availability('reads', log),
    messages: () => lines.map(({ msg }) => msg),
    pass: (milliseconds: number) => {
      now += milliseconds
    }
  }
}

t.test('an outage ends with a success, five seconds after a failure', (t) => {
  const { availability, messages, pass } = start(t)
  t.ok(availability.isAvailable)

  availability.failed(cause, '')
  availability.failed(cause, '')
  availability.succeeded()
  t.notOk(availability.isAvailable)

  pass(5000)
  availability.succeeded()
  t.ok(availability.isAvailable)
  t.same(messages(), [
    'the database is unavailable for reads',
    'the database is available again for reads'
  ])
  t.end()
})

t.test('without a use, an outage is over after a minute', (t) => {
  const { availability, pass } = start(t)
  availability.failed(cause, '')
  pass(60_000)
  t.notOk(availability.isAvailable)
  pass(1)
  t.ok(availability.isAvailable)
  t.end()
})

t.test('the log has neither start nor end of an unreported outage', (t) => {
  const { availability, messages, pass } = start(t)
  availability.reportAfter(new Promise(() => {}))
  availability.failed(cause, '')
  t.notOk(availability.isAvailable)
  pass(5000)
  availability.succeeded()
  t.ok(availability.isAvailable)
  t.same(messages(), [])
  t.end()
})

t.test('an unreported outage that goes on is reported', async (t) => {
  const { availability, messages } = start(t)
  const ready = setImmediate()
  availability.reportAfter(ready)
  availability.failed(cause, ': not logged')

  await ready
  availability.failed(cause, ': why')
  availability.failed(cause, ': logged once')
  t.same(messages(), ['the database is unavailable for reads: why'])
})
