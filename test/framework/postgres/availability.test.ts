import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Availability } from '../../../src/framework/postgres/availability.ts'
import { recorder } from '../../support/recorder.ts'

/** The availability for reads, with a clock that the test moves. */
function start(t: Test) {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const { lines, log } = recorder()
  const availability = new Availability('reads', log)

  return {
    availability,
    fail: (hint = '') => availability.failed(new Error('no database'), hint),
    messages: () => lines.map(({ msg }) => msg),
    pass: (milliseconds: number) => {
      now += milliseconds
    }
  }
}

t.test('an outage ends with a success, five seconds after a failure', (t) => {
  const { availability, fail, messages, pass } = start(t)
  t.ok(availability.isAvailable)

  fail()
  fail()
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
  const { availability, fail, pass } = start(t)
  fail()
  pass(60_000)
  t.notOk(availability.isAvailable)
  pass(1)
  t.ok(availability.isAvailable)
  t.end()
})

t.test('an outage is logged only once the service was ready', async (t) => {
  const { availability, fail, messages, pass } = start(t)
  const ready = setImmediate()
  availability.reportAfter(ready)
  fail()
  t.notOk(availability.isAvailable)
  pass(5000)
  availability.succeeded()
  t.ok(availability.isAvailable)
  fail()

  await ready
  fail(': why')
  fail()
  t.same(messages(), ['the database is unavailable for reads: why'])
})
