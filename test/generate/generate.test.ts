import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'
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
  'src',
  'test/support/notes',
  'tools/clients/programs',
  'tools/clients/retry',
  'tools/generate',
  'tools/generate.ts'
]

const cwd = t.testdir({
  samples: { 'get-dog.sh': '# a sample', 'get-dog.rb': '' },
  node_modules: t.fixture('symlink', path.resolve('node_modules'))
})
for (const name of copied)
  cpSync(name, path.join(cwd, name), { recursive: true })

const file = (name: string) => path.join(cwd, name)
const read = (name: string) => readFileSync(file(name), 'utf8')
const write = (name: string, text: string) => writeFileSync(file(name), text)
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
        '409':
          description: The dog is asleep
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Error' }
              examples:
                asleep: { value: { code: dog_asleep, message: '*Zzz*' } }
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
  'generated/samples.json',
  'docs/clients.md',
  'docs/configuration.md',
  'generated/statements.sql'
].map((name) => `${name} is stale: run npm run generate and commit it\n`)

const problems = [
  ...readApiDocument(api.openapiFile).operations.map(
    ({ id }) => `samples/${id}.sh is missing: write it by hand\n`
  ),
  'samples/get-dog.rb belongs to no operation or language\n'
]

t.test('npm run generate writes what --check reports', async (t) => {
  const page = 'docs/configuration.md'
  const statements = 'generated/statements.sql'
  write('openapi.yaml', withDogs(read('openapi.yaml')))
  write(page, read(page).replace(/^\| `PORT`.*\n/m, ''))
  appendFileSync(file(statements), '-- edited\n')
  appendFileSync(file('docs/clients.md'), '\n## Last words\n')

  const output = [...stale, ...problems].join('')
  t.same(await generate('--check'), { code: 1, output })
  t.same(await generate(), { code: 0, output: '' })

  const written = {
    'generated/operations.ts': "'get-dog': Handler<operations['get-dog']>",
    'generated/types.ts': 'owner: bigint | null;',
    'generated/json.ts': `coalesce("owner"::text, 'null')`,
    'generated/samples.json': '# a sample',
    'docs/clients.md':
      /`GET .dogs.{dogId}` +\| 409 +\| `dog_asleep` +\| \\\*Zzz\\\* /
  }
  for (const [name, text] of Object.entries(written))
    t.match(read(name), text, name)
  for (const name of [statements, page])
    t.equal(read(name), readFileSync(name, 'utf8'), name)
})
