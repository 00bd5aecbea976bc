import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../support/process.ts'

const inputs = [
  'openapi.yaml',
  'package.json',
  '.env.example',
  'docs/configuration.md',
  'src',
  'generated',
  'tools/configuration.ts',
  'tools/generate.ts'
]

/** A copy of what the generator reads and writes, and a way to run it there. */
function copyTree(t: Test) {
  const cwd = t.testdir({
    node_modules: t.fixture('symlink', path.resolve('node_modules'))
  })
  for (const name of inputs)
    cpSync(name, path.join(cwd, name), { recursive: true })
  return {
    file: (name: string) => path.join(cwd, name),
    generate: (...options: string[]) =>
      call(t, ['node', '--import', 'tsx', 'tools/generate.ts', ...options], {
        cwd
      })
  }
}

const added = `  /dogs/{dogId}:
    get:
      operationId: getDog
      responses:
        '204':
          description: Done
components:
`

t.test(
  'npm run generate -- --check reports each stale file, and npm run generate updates it',
  async (t) => {
    const { file, generate } = copyTree(t)
    const original = readFileSync('openapi.yaml', 'utf8')
    writeFileSync(
      file('openapi.yaml'),
      original.replace(/^components:\n/m, added)
    )
    appendFileSync(file('.env.example'), '# PORT=1\n')
    writeFileSync(
      file('docs/configuration.md'),
      readFileSync('docs/configuration.md', 'utf8').replace(
        /^\| `PORT`.*\n/m,
        ''
      )
    )
    const stale = [
      'generated/types.ts',
      'generated/operations.ts',
      '.env.example',
      'docs/configuration.md'
    ]
    t.same(await generate('--check'), {
      code: 1,
      output: stale
        .map((name) => `${name} is stale: run npm run generate and commit it\n`)
        .join('')
    })
    t.same(await generate(), { code: 0, output: '' })
    t.match(
      readFileSync(file('generated/operations.ts'), 'utf8'),
      "getDog: notImplemented('getDog')"
    )
    for (const name of ['.env.example', 'docs/configuration.md'])
      t.equal(readFileSync(file(name), 'utf8'), readFileSync(name, 'utf8'))
  }
)

t.test('a fault in openapi.yaml is one line', async (t) => {
  const { file, generate } = copyTree(t)
  for (const [yaml, message] of [
    [
      'openapi: 3.0.3\ninfo:\n\ttitle: x',
      'Tabs are not allowed as indentation at line 3, column 1:'
    ],
    [
      'openapi: 3.0.3\ninfo: { title: x, version: 1.0.0 }\npaths: { /a: { get: {} } }',
      'paths./a.get must have the property "responses"'
    ]
  ] as const) {
    writeFileSync(file('openapi.yaml'), yaml)
    t.same(await generate(), { code: 1, output: `openapi.yaml: ${message}\n` })
  }
})
