import type { OpenAPIV3 } from 'openapi-types'
import t from 'tap'
import { parse } from 'yaml'
import { readApiDocument } from '../../src/openapi/document.ts'
import { Samples } from '../../tools/generate/samples.ts'

const yaml = `# Pets
openapi: 3.0.3
info: { title: Pets, version: 1.0.0 }
paths:
  /pets:
    get:
      operationId: listPets
      responses: { '200': { description: Pets } }
    post:
      operationId: createPet
      responses: { '201': { description: A pet } }
`

const curl = { lang: 'Shell', label: 'curl' }
const go = { lang: 'Go', label: 'Go' }

/** The operations of the document above. */
const { operations } = readApiDocument(
  `${t.testdir({ 'openapi.yaml': yaml })}/openapi.yaml`
)

t.test('each operation gets its samples, unchanged', (t) => {
  const source = '\n# "Two"  \n\n\tlines: $API_KEY \\\n'
  const folder = t.testdir({
    'listPets.go': 'package main\n',
    'listPets.sh': source
  })

  const text = new Samples(folder).addTo(yaml, operations)
  const { paths } = parse(text) as OpenAPIV3.Document
  const samples = [
    { ...curl, source },
    { ...go, source: 'package main\n' }
  ]

  t.match(paths['/pets']?.get, { 'x-codeSamples': samples })
  t.notOk(Object.hasOwn(paths['/pets']?.post ?? {}, 'x-codeSamples'))
  t.end()
})

t.test('the rest of the document stays as it is', (t) => {
  const folder = t.testdir({ 'listPets.sh': 'curl\n' })
  const text = new Samples(folder).addTo(yaml, operations)

  const document = parse(text) as OpenAPIV3.Document
  const list: object = document.paths['/pets']?.get ?? {}
  Reflect.deleteProperty(list, 'x-codeSamples')
  t.same(document, parse(yaml))
  t.match(text, '# Pets')
  t.end()
})

t.test(
  'each operation needs a sample in each language, and each sample an operation',
  (t) => {
    const folder = t.testdir({
      'listPets.sh': '',
      'createPet.sh': '',
      'listPets.go': '',
      'listDogs.go': '',
      'listPets.rb': ''
    })

    t.same(new Samples(folder).problems(operations), [
      'samples/createPet.go is missing: add this sample',
      'samples/listDogs.go belongs to no operation, or has no language',
      'samples/listPets.rb belongs to no operation, or has no language'
    ])
    t.end()
  }
)

t.test('an API may have no samples', (t) => {
  const samples = new Samples(`${t.testdir()}/none`)

  t.same(samples.problems(operations), [])
  t.same(parse(samples.addTo(yaml, operations)), parse(yaml))
  t.end()
})
