import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { call } from '../support/process.ts'

/** What the generator reads and writes. */
const copied = [
  'CHANGELOG.md',
  'openapi.yaml',
  'package.json',
  'tsconfig.json',
  '.prettierrc.json',
  'deploy',
  'docs',
  'generated',
  'migrations',
  'samples',
  'src',
  'test/support/notes',
  'tools/clients/programs',
  'tools/clients/retry',
  'tools/generate',
  'tools/generate.ts'
]

const cwd = t.testdir({
  node_modules: t.fixture('symlink', path.resolve('node_modules'))
})
for (const name of copied)
  cpSync(name, path.join(cwd, name), { recursive: true })

const file = (name: string) => path.join(cwd, name)
const read = (name: string) => readFileSync(file(name), 'utf8')
const generate = (...options: string[]) =>
  call(t, ['node', '--import', 'tsx', 'tools/generate.ts', ...options], { cwd })

const getDog = `  /dogs/{dogId}:
    get:
      operationId: get-dog
      x-scopes: [dogs:read]
      summary: Get a dog
      parameters:
        - { name: dogId, in: path, required: true, schema: { type: integer } }
      responses:
        '200':
          description: A dog
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Dog' }
`

const dog = `    Dog:
      type: object
      required: [id, owner]
      properties:
        id: { type: integer }
        owner: { type: [integer, 'null'], format: int64 }
`

/** The document with the operation getDog, in OpenAPI 3.1. */
const withDogs = (document: string) =>
  document
    .replace('openapi: 3.0.3', 'openapi: 3.1.1')
    .replace(/(?=^components:\n)/m, getDog)
    .replace(/(?<=^ {2}schemas:\n)/m, dog)

/** What the test below makes stale, in the order of the reports. */
const stale = [
  'generated/types.ts',
  'generated/operations.ts',
  'generated/stubs.ts',
  'generated/json.ts',
  'generated/statements.sql'
].map((name) => `${name} is stale: run npm run generate and commit it\n`)

const problems = ['sh', 'ts', 'py', 'go'].map(
  (extension) => `samples/get-dog.${extension} is missing: write it by hand\n`
)

t.test('npm run generate writes what --check reports', async (t) => {
  writeFileSync(file('openapi.yaml'), withDogs(read('openapi.yaml')))
  appendFileSync(file('generated/statements.sql'), '-- edited\n')

  const output = [...stale, ...problems].join('')
  t.same(await generate('--check'), { code: 1, output })
  t.same(await generate(), { code: 0, output: '' })

  for (const [name, text] of [
    ['generated/operations.ts', "'get-dog': Handler<operations['get-dog']>"],
    ['generated/types.ts', 'owner: bigint | null;'],
    ['generated/json.ts', `coalesce("owner"::text, 'null')`]
  ] as const)
    t.match(read(name), text, name)
  t.notMatch(read('generated/statements.sql'), '-- edited')
})
