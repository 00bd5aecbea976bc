// Run by `npm test --prefix tools/another-api`.
import { rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { call, run } from '../../test/support/process.ts'
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

t.test('it starts, and serves the key that it shows', async (t) => {
  const service = run(t, ['npm', 'start'], {
    cwd: folder,
    env: { PORT: '0', LOG_LEVEL: 'error' }
  })
  const [, url = '', key = ''] = await service.sees(
    /Try it {2}curl (\S+) .* (\w+)'/
  )
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(url, { headers })
  t.equal(await response.text(), '[]')
  t.equal(await service.stop(), 0)
})

/** The tests that read the document of the fork, or its database. */
const ownTests = 'test/generate test/handlers test/service'
const folders = process.env['ALL_TESTS'] === undefined ? ownTests : 'test'

t.test(`it passes the tests in ${folders}`, async (t) => {
  const tests = `git ls-files --cached --others ${folders} | grep '[.]test[.]ts$'`
  await succeeds(t, `npm test -- --disable-coverage $(${tests})`)
})

t.test('no file of the framework was changed', (t) => {
  t.same(changedFiles(folder), [])
  t.end()
})
