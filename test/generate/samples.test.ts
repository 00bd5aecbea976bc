import { readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import {
  type ApiDocument,
  readApiDocument
} from '../../src/framework/openapi/document.ts'
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
const { operations } = documentOf(t, yaml)

/** One operation of each shape that samples have. */
const zooYaml = `openapi: 3.0.3
info: { title: Zoo, version: 1.0.0 }
servers:
  - url: /v1
  - url: https://{host}/v1
    variables: { host: { default: zoo.example } }
security: [{ bearerAuth: [] }]
paths:
  /animals:
    get:
      operationId: findAnimals
      parameters:
        - name: name
          in: query
          required: true
          schema: { type: string }
          examples: { two: { value: Ida & Max }, one: { value: Ida } }
        - { name: limit, in: query, schema: { type: integer }, example: 5 }
      responses: { '200': { $ref: '#/components/responses/Animal' } }
    post:
      operationId: createAnimal
      parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }]
      requestBody:
        content:
          application/json:
            examples:
              full:
                value:
                  name: Ida's calf
                  isAdult: false
                  mother: null
                  diet: [grass, leaves of acacias, bark, fruit, hay of the zoo]
              minimal: { value: { name: Ida } }
      responses: { '201': { $ref: '#/components/responses/Animal' } }
  /animals/{animalId}:
    patch:
      operationId: updateAnimal
      parameters: [{ $ref: '#/components/parameters/AnimalId' }]
      requestBody:
        content: { application/json: { example: { isAdult: true } } }
      responses: { '200': { $ref: '#/components/responses/Animal' } }
    delete:
      operationId: deleteAnimal
      parameters: [{ $ref: '#/components/parameters/AnimalId' }]
      responses:
        '204': { description: It is deleted }
        '404': { description: There is none }
components:
  parameters:
    AnimalId:
      name: animalId
      in: path
      required: true
      schema: { type: integer }
      examples: { known: { value: 7 }, unknown: { value: 404 } }
    IdempotencyKey:
      { name: Idempotency-Key, in: header, schema: { type: string } }
  responses:
    Animal:
      description: An animal
      content: { application/json: { schema: { type: object } } }
`

const zoo = documentOf(t, zooYaml)

function documentOf(test: Test, text: string): ApiDocument {
  const folder = test.testdir({ 'openapi.yaml': text })

  return readApiDocument(path.join(folder, 'openapi.yaml'))
}

/**
 * The samples that a folder gets which has none of the API, in any language.
 */
async function newSamples(test: Test, api: ApiDocument) {
  const folder = test.testdir({
    'a.sh': '',
    'a.ts': '',
    'a.py': '',
    'a.go': ''
  })

  return new Samples(folder).addMissing(api)
}

t.test('each operation gets its samples, unchanged', (t) => {
  const source = '\n# "Two"  \n\n\tlines: $API_KEY \\\n'
  const folder = t.testdir({
    'listPets.go': 'package main\n',
    'listPets.sh': source
  })

  t.same(JSON.parse(new Samples(folder).file(operations)), {
    listPets: [
      { ...curl, source },
      { ...go, source: 'package main\n' }
    ]
  })
  t.end()
})

t.test('each sample needs an operation and a language', (t) => {
  const folder = t.testdir({
    'listPets.sh': '',
    'listDogs.go': '',
    'listPets.rb': ''
  })

  t.same(new Samples(folder).problems(operations), [
    'samples/listDogs.go belongs to no operation, or has no language',
    'samples/listPets.rb belongs to no operation, or has no language'
  ])
  t.end()
})

t.test('an API may have no samples', async (t) => {
  const samples = new Samples(`${t.testdir()}/none`)

  t.same(await samples.addMissing(zoo), {})
  t.same(samples.problems(operations), [])
  t.equal(samples.file(operations), '{}\n')
})

t.test('a read gets a sample with its required query', async (t) => {
  const samples = await newSamples(t, zoo)

  t.equal(
    samples['findAnimals.sh'],
    `curl --fail-with-body 'https://zoo.example/v1/animals?name=Ida+%26+Max' \\
  -H "Authorization: Bearer $API_KEY"
`
  )
  t.equal(
    samples['findAnimals.ts'],
    `const url = 'https://zoo.example/v1/animals?name=Ida+%26+Max'
const response = await fetch(url, {
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\` },
  signal: AbortSignal.timeout(30_000)
})
if (!response.ok) throw new Error(await response.text())

console.log(await response.json())
`
  )
  t.equal(
    samples['findAnimals.py'],
    `import os

import requests

response = requests.get(
    "https://zoo.example/v1/animals?name=Ida+%26+Max",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
    timeout=30,
)
if not response.ok:
    raise requests.HTTPError(response.text)

print(response.json())
`
  )
  t.match(
    samples['findAnimals.go'],
    'url := "https://zoo.example/v1/animals?name=Ida+%26+Max"'
  )
})

/** The body of createAnimal after the name, as JSON on one line. */
const restOfAnimal =
  '"isAdult": false, "mother": null, "diet": ' +
  '["grass", "leaves of acacias", "bark", "fruit", "hay of the zoo"]}'

t.test('a create has an Idempotency-Key in curl', async (t) => {
  const samples = await newSamples(t, zoo)

  t.equal(
    samples['createAnimal.sh'],
    `curl --fail-with-body https://zoo.example/v1/animals \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -H "Idempotency-Key: $(openssl rand -hex 16)" \\
  -d '{"name": "Ida'\\''s calf", ${restOfAnimal}'
`
  )
})

t.test('a create has an Idempotency-Key in TypeScript', async (t) => {
  const samples = await newSamples(t, zoo)

  t.match(
    samples['createAnimal.ts'],
    `  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.API_KEY}\`,
    'Content-Type': 'application/json',
    'Idempotency-Key': crypto.randomUUID()
  },
  body: JSON.stringify({
    name: "Ida's calf",
    isAdult: false,
    mother: null,
    diet: ['grass', 'leaves of acacias', 'bark', 'fruit', 'hay of the zoo']
  }),
`
  )
})

t.test('a create has an Idempotency-Key in Python', async (t) => {
  const samples = await newSamples(t, zoo)

  t.match(
    samples['createAnimal.py'],
    `import os
import uuid

import requests

response = requests.post(
    "https://zoo.example/v1/animals",
    headers={
        "Authorization": f"Bearer {os.environ['API_KEY']}",
        "Idempotency-Key": str(uuid.uuid4()),
    },
    json={
        "name": "Ida's calf",
        "isAdult": False,
        "mother": None,
        "diet": ["grass", "leaves of acacias", "bark", "fruit", "hay of the zoo"],
    },
`
  )
})

t.test('a create has an Idempotency-Key in Go', async (t) => {
  const samples = await newSamples(t, zoo)
  const sample = samples['createAnimal.go']
  const body = `{"name": "Ida's calf", ${restOfAnimal}`

  t.match(sample, `strings.NewReader(\`${body}\`)`)
  t.match(sample, 'request.Header.Set("Idempotency-Key", rand.Text())')
  t.match(sample, 'response.StatusCode != http.StatusCreated')
})

t.test('a PATCH gets a sample with its body', async (t) => {
  const samples = await newSamples(t, zoo)

  t.equal(
    samples['updateAnimal.sh'],
    `curl --fail-with-body -X PATCH https://zoo.example/v1/animals/7 \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"isAdult": true}'
`
  )
  t.match(samples['updateAnimal.ts'], "method: 'PATCH'")
  t.match(samples['updateAnimal.ts'], 'JSON.stringify({ isAdult: true })')
  t.match(
    samples['updateAnimal.py'],
    `response = requests.patch(
    "https://zoo.example/v1/animals/7",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
    json={"isAdult": True},
`
  )
  t.match(
    samples['updateAnimal.go'],
    `	input := strings.NewReader(\`{"isAdult": true}\`)
	request, err := http.NewRequest(http.MethodPatch, url, input)
`
  )
})

t.test(
  'a DELETE without a response body gets samples of its status',
  async (t) => {
    const samples = await newSamples(t, zoo)

    t.equal(
      samples['deleteAnimal.sh'],
      `curl --fail-with-body -i -X DELETE https://zoo.example/v1/animals/7 \\
  -H "Authorization: Bearer $API_KEY"
`
    )
    t.match(samples['deleteAnimal.ts'], "method: 'DELETE'")
    t.match(samples['deleteAnimal.ts'], 'console.log(response.status)')
    t.match(samples['deleteAnimal.py'], 'print(response.status_code)')
    t.match(
      samples['deleteAnimal.go'],
      'http.NewRequest(http.MethodDelete, url, nil)'
    )
    t.match(samples['deleteAnimal.go'], '!= http.StatusNoContent')
    t.match(samples['deleteAnimal.go'], 'fmt.Println(response.Status)')
  }
)

t.test(
  'an operation without API key or parameters needs no headers',
  async (t) => {
    const text = yaml.replace(
      'paths:',
      'servers: [{ url: https://pets.example }]\npaths:'
    )
    const samples = await newSamples(t, documentOf(t, text))

    t.equal(
      samples['listPets.py'],
      `import requests

response = requests.get(
    "https://pets.example/pets",
    timeout=30,
)
if not response.ok:
    raise requests.HTTPError(response.text)

print(response.status_code)
`
    )
  }
)

t.test('a backtick in a body is quoted in Go', async (t) => {
  const text = zooYaml.replace("Ida's calf", "'`'")
  const samples = await newSamples(t, documentOf(t, text))

  t.match(samples['createAnimal.go'], String.raw`{\"name\": \"` + '`')
})

t.test('an operation that is missing is reported', async (t) => {
  const others = zoo.operations.map((one) => ({ ...one, id: 'other' }))
  await t.rejects(newSamples(t, { ...zoo, operations: others }), {
    message: 'there is no operation other'
  })
})

/** Operations whose samples were edited, with the reason. */
const edited: Record<string, string> = {
  listPets: 'follows the links to the next page'
}

t.test('the samples of this API are those of the templates', async (t) => {
  const api = readApiDocument('openapi.yaml')
  const regular = api.operations.filter(({ id }) => !(id in edited))
  const expected = await newSamples(t, { ...api, operations: regular })
  t.not(Object.keys(expected).length, 0)

  for (const [file, source] of Object.entries(expected))
    t.equal(readFileSync(path.join('samples', file), 'utf8'), source, file)
})

t.test('a sample that exists stays as it is', async (t) => {
  const folder = t.testdir({ 'findAnimals.sh': 'edited\n' })
  const samples = new Samples(folder)
  const added = await samples.addMissing(zoo)

  // No sample is in another language.
  t.same(Object.keys(added), [
    'createAnimal.sh',
    'deleteAnimal.sh',
    'updateAnimal.sh'
  ])

  t.match(JSON.parse(samples.file(zoo.operations)), {
    findAnimals: [{ ...curl, source: 'edited\n' }],
    createAnimal: [{ ...curl, source: added['createAnimal.sh'] }]
  })
})

const lacking = [
  {
    name: 'an example of a path parameter',
    text: zooYaml.replace(/examples: { known.*/, ''),
    message:
      'openapi.yaml: the code samples of deleteAnimal need an example of animalId'
  },
  {
    name: 'an example of the body',
    text: zooYaml.replace('example: { isAdult: true }', ''),
    message:
      'openapi.yaml: the code samples of updateAnimal need an example of the body'
  },
  {
    name: 'a 2xx response',
    text: zooYaml.replace("'204': { description: It is deleted }", ''),
    message:
      'openapi.yaml: the code samples of deleteAnimal need a 2xx response'
  },
  {
    name: 'a server with a host',
    text: zooYaml.replace('https://{host}', ''),
    message: 'openapi.yaml: code samples need a server with a host'
  }
]

for (const { name, text, message } of lacking) {
  t.test(`without ${name}, a sample is left out, with a line`, async (t) => {
    const reports: string[] = []
    const api = documentOf(t, text)
    const folder = t.testdir({ 'a.sh': '' })
    await new Samples(folder).addMissing(api, (line) => reports.push(line))

    t.ok(reports.includes(`${message}, and are left out`))
  })
}
