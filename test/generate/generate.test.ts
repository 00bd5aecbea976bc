import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { copyRepository } from '../support/copy.ts'
import { call } from '../support/process.ts'

/** A copy of the repository, and a way to run the generator there. */
function copyTree(t: Test) {
  const cwd = copyRepository(t)
  const file = (name: string) => path.join(cwd, name)
  const command = ['node', '--import', 'tsx', 'tools/generate.ts']

  return {
    read: (name: string) => readFileSync(file(name), 'utf8'),
    write: (name: string, text: string) => writeFileSync(file(name), text),
    append: (name: string, text: string) => appendFileSync(file(name), text),
    generate: (...options: string[]) =>
      call(t, [...command, ...options], { cwd })
  }
}

const getDog = `  /dogs/{dogId}:
    get:
      operationId: getDog
      x-scopes: [dogs:read]
      summary: Get a dog
      parameters:
        - name: dogId
          in: path
          required: true
          schema:
            type: integer
          example: 3
      responses:
        '200':
          description: A dog
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Dog'
        '409':
          description: The dog is asleep
          content:
            application/json:
              examples:
                asleep:
                  value:
                    code: dog_asleep
                    message: The dog sleeps until noon
                    status: 409
`

const dog = `    Dog:
      type: object
      required: [id]
      properties:
        id:
          type: integer
`

/** The document with the operation getDog. */
const withDogs = (document: string) =>
  document
    .replace(/(?=^components:\n)/m, getDog)
    .replace(/(?<=^ {2}schemas:\n)/m, dog)

const samplesOfGetDog = ['sh', 'ts', 'py', 'go'].map(
  (extension) => `samples/getDog.${extension}`
)

/** What the test below makes stale, in the order of the reports. */
const stale = [
  'generated/types.ts',
  'generated/operations.ts',
  'generated/json.ts',
  'generated/columns.ts',
  'generated/samples.json',
  'generated/names.ts',
  'docs/clients.md',
  'generated/guide.html',
  '.env.example',
  'docs/configuration.md',
  'README.md'
]

const remedy = 'run npm run generate and commit it'

const reports = [
  ...samplesOfGetDog.map((name) => `${name} is missing: ${remedy}\n`),
  ...stale.map((name) => `${name} is stale: ${remedy}\n`)
]

t.test(
  'npm run generate updates each file that --check reports as stale',
  async (t) => {
    const { read, write, append, generate } = copyTree(t)

    write('openapi.yaml', withDogs(read('openapi.yaml')))
    append('.env.example', '# PORT=1\n')
    const page = 'docs/configuration.md'
    write(page, read(page).replace(/^\| `PORT`.*\n/m, ''))
    append('generated/columns.ts', '// edited\n')
    append('docs/clients.md', '\n## Last words\n')
    append('samples/listPets.sh', '# edited\n')

    t.same(await generate('--check'), { code: 1, output: reports.join('') })
    t.same(await generate(), { code: 0, output: '' })
    t.same(await generate('--check'), { code: 0, output: '' })

    t.match(read('generated/operations.ts'), "getDog: notImplemented('getDog')")
    t.match(read('generated/json.ts'), "rowJson<Schemas['Dog']>")
    t.match(read('samples/listPets.sh'), /# edited\n$/)
    t.match(read('samples/getDog.sh'), '/v1/dogs/3 \\\n')
    t.match(read('generated/samples.json'), '/v1/dogs/3 ')
    t.match(
      read('docs/clients.md'),
      /`GET .dogs.{dogId}` +\| 409 +\| `dog_asleep` +\| The dog sleeps until noon /
    )
    t.match(read('generated/guide.html'), '<a href="#last-words">')
    t.match(read('generated/guide.html'), '<td><code>dog_asleep</code></td>')
    t.match(read('README.md'), /`GET .v1.dogs.{dogId}` +\| 200 +\| Get a dog /)

    for (const name of ['generated/columns.ts', '.env.example', page]) {
      t.equal(read(name), readFileSync(name, 'utf8'), name)
    }
  }
)

const faults = [
  {
    yaml: 'openapi: 3.0.3\ninfo:\n\ttitle: x',
    message: 'Tabs are not allowed as indentation at line 3, column 1:'
  },
  {
    yaml: `openapi: 3.0.3
info: { title: x, version: 1.0.0 }
paths: { /a: { get: {} } }`,
    message: 'paths./a.get must have the property "responses"'
  },
  {
    yaml: `openapi: 3.1.0
info: { title: x, version: 1.0.0 }
paths: {}`,
    message:
      'openapi 3.1.0 is not supported: write openapi: 3.0.3, ' +
      'and follow OpenAPI 3.0, as in nullable: true'
  },
  {
    yaml: `openapi: 3.0.3
info: { title: x, version: 1.0.0 }
paths: { /a: { get: { operationId: get-stations, responses: { '204': { description: x } } } } }`,
    message:
      'write the operationId get-stations in camelCase, such as listCategories'
  }
]

t.test('a fault in openapi.yaml is one line', async (t) => {
  const { write, generate } = copyTree(t)

  for (const { yaml, message } of faults) {
    write('openapi.yaml', yaml)
    t.same(await generate(), { code: 1, output: `openapi.yaml: ${message}\n` })
  }
})

t.test('the statements of src/handlers are written', async (t) => {
  const { read, append, generate } = copyTree(t)
  const file = 'generated/statements.sql'

  append(file, '-- edited\n')
  t.same(await generate('--check'), {
    code: 1,
    output: `${file} is stale: run npm run generate and commit it\n`
  })
  t.same(await generate(), { code: 0, output: '' })
  t.equal(read(file), readFileSync(file, 'utf8'))
})

t.test('src/handlers that cannot be loaded are reported', async (t) => {
  const { write, generate } = copyTree(t)

  write('src/handlers/index.ts', '')
  t.match(await generate(), {
    code: 1,
    output:
      'src/handlers cannot be loaded for generated/statements.sql and docs/metrics.md: '
  })
})
