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
  const id = '1725ff48-ab45-4bb5-9d02-88745177dedb'
  const payment =
    '{"amount":1,"currency":"eur","source":{"name":"J","number":"0001","account_type":"company","bank_name":"S","country":"gb"}}'
  const booking = `{"trip_id":"${id}","passenger_name":"J"}`

  t.equal(await send('/stations'), '[]')
  t.match(await send('/bookings', `--json '${booking}'`), 'There is no trip')
  const unpaid = await send(`/bookings/${id}/payment`, `--json '${payment}'`)
  t.match(unpaid, 'There is no booking')
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
