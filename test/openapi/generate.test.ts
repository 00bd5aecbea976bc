import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createDatabase } from '../support/database.ts'
import { run } from '../support/process.ts'

/** A copy of the working tree, to be changed. */
function copyTree(t: Test): string {
  const copy = t.testdir()
  const files = ['openapi.yaml', 'package.json', 'tsconfig.json', '.env.example', 'README.md']
  for (const name of [...files, 'src', 'generated', 'scripts', 'migrations']) {
    cpSync(name, path.join(copy, name), { recursive: true })
  }
  symlinkSync(path.resolve('node_modules'), path.join(copy, 'node_modules'))
  return copy
}

const operation = `  /categories/{categoryId}:
    get:
      operationId: getCategory
      summary: Get a category
      parameters:
        - name: categoryId
          in: path
          required: true
          schema:
            type: integer
            format: int64
      responses:
        '200':
          description: The category
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Category'
components:
`

function change(copy: string, file: string, from: string | RegExp, to: string): void {
  const name = path.join(copy, file)
  writeFileSync(
    name,
    readFileSync(name, 'utf8').replace(from, () => to)
  )
}

t.test('the generated files match their sources', async (t) => {
  const { exited, output } = run(t, ['npm', 'run', 'generate', '--', '--check'])
  t.equal(await exited, 0, output())
})

t.test('an operation that is added to the document gets its handler type and a working stub', async (t) => {
  const copy = copyTree(t)
  change(copy, 'openapi.yaml', /^components:\n/m, operation)

  const stale = run(t, ['npm', 'run', 'generate', '--', '--check'], { cwd: copy })
  t.equal(await stale.exited, 1)
  t.match(stale.output(), 'generated/operations.ts is stale')
  const env = { DATABASE_URL: await createDatabase(t), PORT: '0' }
  const unknown = run(t, ['npm', 'start'], { cwd: copy, env })
  t.equal(await unknown.exited, 1)
  t.match(unknown.output(), 'The operation getCategory has no handler: run npm run generate')

  t.equal(await run(t, ['npm', 'run', 'generate'], { cwd: copy }).exited, 0)
  const service = run(t, ['npm', 'start'], { cwd: copy, env })
  const [, url = ''] = await service.sees(/Server listening at (\S+)"/)
  const made = run(t, ['npm', 'run', '--silent', 'keys', '--', 'create', '--name', 'x'], { cwd: copy, env })
  await made.exited
  const headers = { authorization: `Bearer ${made.output().trim()}` }
  t.equal((await fetch(`${url}/v1/categories/1`)).status, 401)
  t.equal((await fetch(`${url}/v1/categories/1e3`, { headers })).status, 400)
  const stub = await fetch(`${url}/v1/categories/1`, { headers })
  t.equal(stub.status, 501)
  t.same(await stub.json(), {
    code: 'not_implemented',
    message: 'The operation getCategory is not implemented yet',
    status: 501
  })
})

t.test('a variable is described once: .env.example and the README follow the schema', async (t) => {
  const copy = copyTree(t)
  change(
    copy,
    'src/config.ts',
    "port('Port to listen on'), default: 3000",
    "port('TCP port to listen on'), default: 4000"
  )
  const stale = run(t, ['npm', 'run', '--silent', 'generate', '--', '--check'], { cwd: copy })
  t.equal(await stale.exited, 1)
  t.equal(
    stale.output(),
    '.env.example is stale: run npm run generate and commit it\nREADME.md is stale: run npm run generate and commit it\n'
  )

  t.equal(await run(t, ['npm', 'run', 'generate'], { cwd: copy }).exited, 0)
  t.match(readFileSync(path.join(copy, '.env.example'), 'utf8'), '\n# TCP port to listen on\n# PORT=4000\n')
  const lines = (folder: string) => readFileSync(path.join(folder, 'README.md'), 'utf8').split('\n')
  const before = lines('.')
  const changed = lines(copy).filter((line, at) => line !== before[at])
  t.equal(changed.length, 1, 'the rest of the README is as before')
  t.match(changed[0], /^\| `PORT` +\| `4000` +\| TCP port to listen on +\|$/)

  change(copy, 'README.md', '<!-- end: configuration -->', '')
  const unmarked = run(t, ['npm', 'run', '--silent', 'generate', '--', '--check'], { cwd: copy })
  t.equal(await unmarked.exited, 1)
  t.equal(unmarked.output(), 'README.md: the comments around the table of the configuration are missing\n')
})

t.test('a fault in the document is one line, for the generator as for the start', async (t) => {
  const copy = copyTree(t)
  const text = readFileSync('openapi.yaml', 'utf8')
  for (const [from, to, line] of [
    [
      /^ {6}operationId: listCategories/m,
      '  operationId: listCategories',
      /^openapi\.yaml: .* at line \d+, column \d+$/
    ],
    [
      'categoryId\n          in',
      'categoryID\n          in',
      /^openapi\.yaml: GET \/categories\/\{categoryId\}: the path has .*$/
    ],
    [
      "#/components/schemas/Category'",
      "#/components/schemas/Cat'",
      /^openapi\.yaml: GET .* has a \$ref without a target: .*$/
    ]
  ] as const) {
    writeFileSync(path.join(copy, 'openapi.yaml'), text.replace(/^components:\n/m, operation).replace(from, to))
    const env = { DATABASE_URL: 'postgres://localhost/none', PORT: '0' }
    for (const command of ['generate', 'start']) {
      const { exited, output } = run(t, ['npm', 'run', '--silent', command], { cwd: copy, env })
      t.equal(await exited, 1)
      t.match(output().trim().replace('pet-categories: ', ''), line, command)
    }
  }
})

t.test('the compiler takes a handler of the right shape and no other', async (t) => {
  const copy = copyTree(t)
  change(copy, 'openapi.yaml', /^components:\n/m, operation)
  t.equal(await run(t, ['npm', 'run', 'generate'], { cwd: copy }).exited, 0)
  const compile = async (handler: string) => {
    const file = path.join(copy, 'src', 'handler.ts')
    writeFileSync(
      file,
      `import type { Operations } from '../../generated/operations.ts'\nexport const handlers: Partial<Operations> = {\n${handler}\n}\n`
    )
    const tsc = run(
      t,
      [path.resolve('node_modules/.bin/tsc'), '--incremental', '--tsBuildInfoFile', path.join(copy, 'tsbuildinfo')],
      { cwd: copy }
    )
    return (await tsc.exited) === 0 ? 'compiles' : tsc.output()
  }
  const right =
    'getCategory: async ({ params: { categoryId } }, reply) => reply.code(200).send({ id: categoryId + 1n, name: "x" })'
  t.equal(await compile(right), 'compiles')
  const wrong = [
    ['another status', 'getCategory: async (_request, reply) => reply.code(201).send({ id: 1n, name: "x" })'],
    ['an id that is no int64', 'getCategory: async (_request, reply) => reply.code(200).send({ id: 1, name: "x" })'],
    ['a property too few', 'getCategory: async (_request, reply) => reply.code(200).send({ id: 1n })'],
    [
      'a property too many',
      'getCategory: async (_request, reply) => reply.code(200).send({ id: 1n, name: "x", colour: "red" })'
    ],
    ['no body', 'getCategory: async (_request, reply) => reply.code(200).send()'],
    [
      'a parameter that is not there',
      'getCategory: async (request, reply) => reply.code(200).send({ id: request.params.id, name: "x" })'
    ],
    ['an answer without a status', 'getCategory: async () => ({ id: 1n, name: "x" })'],
    ['no answer', 'getCategory: async () => {}'],
    [
      'an operation that the document does not have',
      'deleteCategory: async (_request, reply) => reply.code(204).send()'
    ]
  ]
  for (const [title = '', handler = ''] of wrong) t.match(await compile(handler), /src\/handler\.ts.*error TS/, title)
})
