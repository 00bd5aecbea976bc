// Run by `npm test --prefix tools/another-api`.
import t, { type Test } from 'tap'
import { call, run } from '../../test/support/process.ts'
import { patience } from '../../test/support/until.ts'
import { Fork } from './fork.ts'

const fork = new Fork()
t.teardown(() => fork.remove())

/** Runs a command in the fork, and shows its output if it fails. */
async function succeeds(test: Test, command: string) {
  const { code, output } = await call(test, ['sh', '-c', command], {
    cwd: fork.folder,
    env: { TEST_PATIENCE_SECONDS: String(patience) }
  })

  if (code !== 0) test.comment(output)
  test.equal(code, 0, command)
}

t.test('the fork generates its code and passes the check', async (t) => {
  await succeeds(t, 'npx prettier --write openapi.yaml')
  await succeeds(t, 'npm run -s generate')
  await succeeds(t, 'npm run -s check')
})

t.test('bookings have owners, and payments are sent once', async (t) => {
  const service = run(t, ['npm', 'start'], {
    cwd: fork.folder,
    env: { PORT: '0', LOG_LEVEL: 'error' }
  })
  const [, curl = ''] = await service.sees(/Try it {2}(curl .*)/)
  const send = async (path: string, options = '') => {
    const command = `${curl.replace('/stations', path)} -s ${options}`
    return (await call(t, ['sh', '-c', command])).output
  }
  const booking = '/bookings/1725ff48-ab45-4bb5-9d02-88745177dedb'
  const unknownTrip =
    '{"trip_id":"1725ff48-ab45-4bb5-9d02-88745177dedb","passenger_name":"J"}'
  const payment =
    '{"amount":1,"currency":"eur","source":{"name":"J","number":"0001","account_type":"company","bank_name":"S","country":"gb"}}'
  const pay = () =>
    send(`${booking}/payment`, `-i -H 'Idempotency-Key: 1' --json '${payment}'`)

  t.equal(await send('/stations'), '[]')
  const unbooked = await send('/bookings', `--json '${unknownTrip}'`)
  t.match(unbooked, 'There is no trip')
  t.match(await pay(), 'There is no booking')

  // The booking belongs to the key that `npm start` has shown.
  await succeeds(t, 'npm run -s seed')
  t.match(await send(booking), '"passenger_name":"John Doe"')
  t.match(await pay(), / 200 OK[^]*"amount":1/)
  t.match(await pay(), /^idempotent-replayed: true$[^]*"amount":1/m)

  const create = ['npm', 'run', '-s', 'keys', '--', 'create', '--name', 'other']
  const { output } = await call(t, create, { cwd: fork.folder })
  const apiKey = /\w+_[0-9a-f]{48}/
  const [otherKey = ''] = apiKey.exec(output) ?? []
  const command = curl.replace('/stations', booking).replace(apiKey, otherKey)
  const others = await call(t, ['sh', '-c', `${command} -s`])
  t.match(others.output, 'There is no booking')
  t.equal(await service.stop(), 0)
})

t.test('it passes all tests of the framework, and its examples', async (t) => {
  await succeeds(
    t,
    'npm test -- --disable-coverage $(git ls-files --cached --others "test/**.test.ts")'
  )
})

t.test('no file of the framework was changed', (t) => {
  t.same(fork.changedFiles(), [])
  t.end()
})
