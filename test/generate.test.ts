import { appendFileSync, cpSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { call } from './support/process.ts'

t.test('a stale generated file is named, and written again', async (t) => {
  const cwd = t.testdir({
    node_modules: t.fixture('symlink', path.resolve('node_modules'))
  })
  for (const name of [
    'generated',
    'migrations',
    'openapi.yaml',
    'package.json',
    'src',
    'tools/generate.ts',
    '.prettierrc.json'
  ])
    cpSync(name, path.join(cwd, name), { recursive: true })
  const generate = (...options: string[]) =>
    call(t, ['node', '--import=tsx', 'tools/generate.ts', ...options], { cwd })

  const file = 'generated/types.ts'
  appendFileSync(path.join(cwd, file), '// edited\n')
  t.match(await generate('--check'), { code: 1, output: file })
  t.match(await generate(), { code: 0 })
  t.same(readFileSync(path.join(cwd, file)), readFileSync(file))
})
