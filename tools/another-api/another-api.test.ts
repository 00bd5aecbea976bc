// Run by `npm test --prefix tools/another-api`.
import t, { type Test } from 'tap'
import { call, run } from '../../test/support/process.ts'
import { patience } from '../../test/support/until.ts'
import { Fork } from './fork.ts'

const fork = new Fork()
t.teardown(() => fork.remove())

/** Of the tests of the framework, those that need the most of it. */
const frameworkTests = [
  'keys/bearer',
  'keys/scopes',
  'creates/mistakes',
  'creates/idempotency',
  'http/cors',
  'http/metrics',
  'lists/lists',
  'lists/pages',
  'openapi/routes',
  'postgres/migrations',
  'postgres/roles',
  'postgres/settings'
]

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

t.test('its guide has no error of the operations that it replaces', (t) => {
  const guide = fork.read('docs/clients.md')

  t.match(guide, '\n\nNo operation has one.\n\n<!-- end of errors of op')
  t.notMatch(guide, 'order_not_cancellable')
  t.end()
})

t.test('it starts, and serves both operations', async (t) => {
  const service = run(t, ['npm', 'start'], {
    cwd: fork.folder,
    env: { PORT: '0', LOG_LEVEL: 'error' }
  })
  const [, curl = ''] = await service.sees(/Try it {2}(curl .*)/)
  const create = `${curl} --json '{"name":"Night","day":"2027-05-01"}'`
  const event = '{"id":1,"name":"Night","day":"2027-05-01","soldOut":false}'

  for (const [command, expected] of [
    [curl, '[]'],
    [create, event],
    [curl, `[${event}]`]
  ]) {
    const { output } = await call(t, ['sh', '-c', `${command} -s`])
    t.equal(output, expected)
  }
  t.equal(await service.stop(), 0)
})

t.test('it passes the tests of the framework', async (t) => {
  const files = frameworkTests
    .map((name) => `test/framework/${name}.test.ts`)
    .join(' ')
  await succeeds(t, `npm test -- --disable-coverage ${files}`)
})

t.test('no file of the framework was changed', (t) => {
  t.same(fork.changedFiles(), [])
  t.end()
})
