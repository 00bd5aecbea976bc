// Run by `npm test --prefix tools/another-api`.
import { rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { call, keyPattern, run } from '../../test/support/process.ts'
import { patience } from '../../test/support/until.ts'
import { changedFiles, makeFork } from './fork.ts'

const folder = makeFork()
t.teardown(() => rmSync(folder, { recursive: true }))

/** Runs a command in the fork, and shows its output if it fails. */
async function succeeds(test: Test, command: string) {
  const { code, output } = await call(test, ['sh', '-c', command], {
    cwd: folder,
    env: { TEST_PATIENCE_SECONDS: String(patience) }
  })

  if (code !== 0) test.comment(output)
  test.equal(code, 0, command)
}

t.test('the fork generates its code and passes the check', async (t) => {
  await succeeds(t, 'npm pkg set name=train-travel')
  await succeeds(t, 'npx prettier --write openapi.yaml')
  await succeeds(t, 'npm run -s generate')
  await succeeds(t, 'npm run -s check')
})

const id = '1725ff48-ab45-4bb5-9d02-88745177dedb'
const booking = `/bookings/${id}`
const payment = {
  amount: 1,
  currency: 'eur',
  source: {
    name: 'J',
    number: '0001',
    account_type: 'company',
    bank_name: 'S',
    country: 'gb'
  }
}
const json = { 'content-type': 'application/json' }

t.test('bookings have owners, and payments are sent once', async (t) => {
  const service = run(t, ['npm', 'start'], {
    cwd: folder,
    env: { PORT: '0', LOG_LEVEL: 'error' }
  })
  const [, url = '', key = ''] = await service.sees(
    /Try it {2}curl (\S+)\/stations .* (\w+)'/
  )
  const send = async (resource: string, body?: object, apiKey = key) => {
    const headers = { authorization: `Bearer ${apiKey}` }
    const post = {
      method: 'POST',
      headers: { ...headers, ...json, 'idempotency-key': '1' },
      body: JSON.stringify(body)
    }
    const response = await fetch(url + resource, body ? post : { headers })
    const isReplayed = response.headers.has('idempotent-replayed')
    return { isReplayed, text: await response.text() }
  }
  const pay = () => send(`${booking}/payment`, payment)

  t.match(await send('/stations'), { text: '[]' })
  const unbooked = await send('/bookings', { trip_id: id, passenger_name: 'J' })
  t.match(unbooked, { text: 'There is no trip' })
  t.match(await pay(), { text: 'There is no booking' })

  // The booking belongs to the key that `npm start` has shown.
  await succeeds(t, 'npm run -s seed')
  t.match(await send(booking), { text: '"passenger_name":"John Doe"' })
  t.match(await pay(), { isReplayed: false, text: '"amount":1' })
  t.match(await pay(), { isReplayed: true, text: '"amount":1' })

  const create = 'npm run -s keys -- create --name other'.split(' ')
  const { output } = await call(t, create, { cwd: folder })
  const [otherKey] = keyPattern.exec(output) ?? []
  const others = await send(booking, undefined, otherKey)
  t.match(others, { text: 'There is no booking' })
  t.equal(await service.stop(), 0)
})

t.test('it passes all tests of the framework, and its examples', async (t) => {
  const tests = 'git ls-files --cached --others "test/**.test.ts"'
  await succeeds(t, `npm test -- --disable-coverage $(${tests})`)
})

t.test('no file of the framework was changed', (t) => {
  t.same(changedFiles(folder), [])
  t.end()
})
