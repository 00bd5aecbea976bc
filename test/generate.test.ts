import { appendFileSync, cpSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { call } from './support/process.ts'

t.test('a stale generated file is named, and written again', async (t) => {
  const cwd = t.testdir({
    node_modules: t.fixture('symlink', path.resolve('node_modules'))
  })
  for (const name of [
    'generated',
    'openapi.yaml',
    'package.json',
    'src',
    'tools/generate.ts',
    '.prettierrc.json'
  ])
    cpSync(name, path.join(cwd, name), { recursive: true })
  const generate = (...options: string[]) =>
    call(t, ['node', '--import=tsx', 'tools/generate.ts', ...options], { cwd })

  appendFileSync(path.join(cwd, 'generated/types.ts'), '// edited\n')
  t.match(await generate('--check'), { code: 1, output: 'generated/types.ts' })
  t.match(await generate(), { code: 0 })
  t.match(await generate('--check'), { code: 0 })
})
