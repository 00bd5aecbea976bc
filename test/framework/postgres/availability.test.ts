import t from 'tap'
import { trackAvailability } from '../../../src/framework/postgres/availability.ts'
import { recorder } from '../../support/recorder.ts'

t.test('an outage ends with a later success, or after a minute', (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const { lines, log } = recorder()
  const availability = trackAvailability('reads', log)
  const fail = () => availability.failed(new Error('no database'), ': why')
  t.ok(availability.isAvailable)

  fail()
  fail()
  availability.succeeded()
  t.notOk(availability.isAvailable)

  now = 5000
  availability.succeeded()
  t.ok(availability.isAvailable)
  t.match(lines, [
    { msg: 'the database is unavailable for reads: why' },
    { msg: 'the database is available again for reads' }
  ])
  t.equal(lines.length, 2)

  fail()
  now += 60_000
  t.notOk(availability.isAvailable)
  fail()
  fail()
  t.equal(lines.length, 4, 'it is logged again after a minute')

  now += 60_001
  t.ok(availability.isAvailable)
  t.end()
})
