import { appendFileSync, cpSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { runToEnd } from './support/process.ts'

t.test('a stale generated file is named', async (t) => {
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
    'tools/run-typescript.js',
    '.prettierrc.json'
  ])
    cpSync(name, path.join(cwd, name), { recursive: true })

  const file = 'generated/types.ts'
  appendFileSync(path.join(cwd, file), '// edited\n')
  const check = [
    'node',
    'tools/run-typescript.js',
    'tools/generate.ts',
    '--check'
  ]
  t.match(await runToEnd(t, check, { cwd }), { code: 1, output: file })
})
