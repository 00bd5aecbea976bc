// Puts another API on the framework, in a copy of this repository. Run it with
// `npm test --prefix tools/another-api`.
import {
  cpSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { call, run } from '../../test/support/process.ts'
import { edit, type Edits } from '../contract/edit.ts'
import { copyFiles } from '../copy-files.ts'

const cwd = copyFiles()
t.teardown(() => rmSync(cwd, { recursive: true }))

const here = import.meta.dirname
const read = (file: string) => readFileSync(file, 'utf8')

/** Runs a shell command in the copy. Shows its output if it fails. */
async function succeeds(t: Test, command: string): Promise<void> {
  const { code, output } = await call(t, ['sh', '-c', command], { cwd })
  if (code !== 0) t.comment(output)
  t.equal(code, 0, command)
}

/** What docs/architecture.md says to delete. */
const deleted = [
  'migrations/0002_pet_shop.sql',
  'migrations/0003_vacuum_of_messages.sql',
  'samples',
  'src/handlers',
  'test/handlers',
  ':!test/handlers/examples.test.ts',
  ':!test/handlers/statements.test.ts'
].join(' ')

/** What belongs to an API. The rest is the framework. */
const partsOfApi = [
  'openapi.yaml',
  'package.json',
  'deploy/haproxy.cfg',
  'generated'
]

t.test('another API takes the place of the pet shop', async (t) => {
  symlinkSync(path.resolve('node_modules'), `${cwd}/node_modules`)
  // So that git sees later which files have changed.
  await succeeds(t, 'git init --quiet && git add .')
  await succeeds(t, `git rm -r --quiet --force ${deleted}`)
  cpSync(`${here}/train`, cwd, { recursive: true })
  const edits = parse(read(`${here}/edits.yaml`)) as Edits
  writeFileSync(`${cwd}/openapi.yaml`, edit(read('openapi.yaml'), edits))

  await succeeds(t, 'npm pkg set name=train-travel')
  await succeeds(t, 'npx prettier --write openapi.yaml')
  await succeeds(t, 'npm run -s generate')
  await succeeds(t, 'npm run -s check')
})

t.test('it starts, and the key that it shows reaches a stub', async (t) => {
  const env = { PORT: '0', LOG_LEVEL: 'error' }
  const service = run(t, ['npm', 'start'], { cwd, env })
  const [, url = '', key = ''] = await service.sees(
    /Try it {2}curl (\S+) .*Bearer (train_\w+)'/
  )
  const headers = { authorization: `Bearer ${key}` }
  t.equal((await fetch(url)).status, 401)
  t.equal((await fetch(url, { headers })).status, 501)
  t.equal(await service.stop(), 0)
})

t.test('no file of the framework was changed', async (t) => {
  const others = partsOfApi.map((file) => `:!${file}`).join(' ')
  await succeeds(t, `git diff --stat --exit-code -- . ${others}`)
})
