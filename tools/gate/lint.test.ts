import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { all, del, type Edit, set } from './edits.ts'
import { lintDocument } from './lint/lint.ts'

const list = ['paths', '/categories', 'get']
const create = ['paths', '/categories', 'post']
const schemas = ['components', 'schemas']
const json = 'application/json'
const created = [...create, 'responses', '201', 'content', json]
const header = ['components', 'headers', 'RetryAfter']

/** Faults in openapi.yaml, and the rule that finds each. */
const faults: [string, string, Edit][] = [
  ['an undeclared tag', 'operation-tag-defined', set([...list, 'tags'], ['Dogs'])],
  ['two tags of an operation', 'operation-singular-tag', set([...list, 'tags'], ['Categories', 'Quickstart'])],
  ['no operationId', 'operation-operationId', del([...list, 'operationId'])],
  ['an operationId twice', 'operation-operationId-unique', set([...list, 'operationId'], 'createCategory')],
  ['no description', 'operation-description', del([...list, 'description'])],
  ['no summary', 'operation-summary', del([...list, 'summary'])],
  ['a parameter without a description', 'parameter-description', del([...list, 'parameters', 0, 'description'])],
  ['a component that nothing uses', 'no-unused-components', set([...schemas, 'Dog'], { type: 'string' })],
  ['a $ref to nothing', 'no-unresolved-refs', set([...created, 'schema', '$ref'], '#/components/schemas/Dog')],
  [
    'siblings of a $ref',
    'no-$ref-siblings',
    set(['paths', '/dogs'], { $ref: '#/paths/~1categories', summary: 'Dogs' })
  ],
  ['an array without items', 'array-items', del([...list, 'responses', '200', 'content', json, 'schema', 'items'])],
  ['an undefined security scheme', 'security-defined', set(['security'], [{ other: [] }])],
  ['no security', 'security-defined', del(['security'])],
  ['a path twice but for its parameter', 'no-identical-paths', pathsOf('/dogs/{a}', '/dogs/{b}')],
  ['paths that match the same', 'no-ambiguous-paths', pathsOf('/dogs/{a}/cats', '/dogs/birds/{b}')],
  ['a verb in a path', 'no-http-verbs-in-paths', pathsOf('/get-dogs')],
  ['a path in camel case', 'paths-kebab-case', pathsOf('/bigDogs')],
  ['a path in the singular', 'path-segment-plural', pathsOf('/dog')],
  ['a slash at the end', 'no-path-trailing-slash', pathsOf('/dogs/')],
  [
    'a path parameter that is not declared',
    'path-parameters-defined',
    (d) => {
      d.setIn(['paths', '/dogs/{dogId}'], d.getIn(list.slice(0, 2), true))
      d.deleteIn(list.slice(0, 2))
    }
  ],
  [
    'a declared path parameter that is not in the path',
    'path-parameters-defined',
    (d) =>
      d.addIn(
        [...list, 'parameters'],
        d.createNode({ name: 'id', in: 'path', required: true, description: 'x', schema: { type: 'string' } })
      )
  ],
  [
    'a parameter twice',
    'operation-parameters-unique',
    (d) => d.addIn([...list, 'parameters'], d.getIn([...list, 'parameters', 0], true))
  ],
  ['no 2xx', 'operation-2xx-response', del([...create, 'responses', '201'])],
  [
    'no 4xx',
    'operation-4xx-response',
    all(...['400', '401', '413', '429'].map((s) => del([...create, 'responses', s])))
  ],
  ['an error without a code', 'response-contains-property', del([...schemas, 'Error', 'properties', 'code'])],
  [
    'a response without X-Request-Id',
    'response-contains-header',
    del([...create, 'responses', '201', 'headers', 'X-Request-Id'])
  ],
  [
    'a request in another media type',
    'request-mime-type',
    set([...create, 'requestBody', 'content', 'text/plain'], {
      schema: { type: 'string', maxLength: 1 },
      examples: { a: { value: 'a' } }
    })
  ],
  [
    'a required property that is not there',
    'no-required-schema-properties-undefined',
    set([...schemas, 'Category', 'required'], ['id', 'name', 'age'])
  ],
  [
    'nullable without a type',
    'nullable-type-sibling',
    set([...schemas, 'Category', 'properties', 'name'], { nullable: true })
  ],
  ['a misspelt keyword', 'struct', set([...schemas, 'NewCategory', 'properties', 'name', 'maxLenght'], 5)],
  ['a type that does not exist', 'struct', set([...schemas, 'Category', 'properties', 'name', 'type'], 'text')],
  [
    'an enum of another type',
    'no-enum-type-mismatch',
    set([...schemas, 'Message', 'properties', 'status', 'enum'], [1])
  ],
  [
    'an enum value twice',
    'no-duplicated-enum-values',
    set([...schemas, 'Message', 'properties', 'status', 'enum'], ['queued', 'queued'])
  ],
  ['a keyword of another type', 'no-schema-type-mismatch', set([...schemas, 'Category', 'items'], { type: 'string' })],
  [
    'a default that its schema refuses',
    'oas3-valid-schema-example',
    set([...schemas, 'NewCategory', 'properties', 'name', 'default'], 5)
  ],
  [
    'a default that breaks a pattern',
    'oas3-valid-schema-example',
    set([...schemas, 'NewCategory', 'properties', 'name', 'default'], 'a\0')
  ],
  [
    'an example of a property of another type',
    'no-invalid-schema-examples',
    set([...schemas, 'Error', 'properties', 'code', 'example'], 5)
  ],
  [
    'an example of a property that breaks its pattern',
    'no-invalid-schema-examples',
    set([...schemas, 'NewCategory', 'properties', 'name', 'example'], 'a\0')
  ],
  [
    'an example of a property with a wrong format',
    'no-invalid-schema-examples',
    set([...schemas, 'Message', 'properties', 'id', 'example'], 'one')
  ],
  [
    'an example of a parameter that its schema refuses',
    'no-invalid-parameter-examples',
    set([...list, 'parameters', 0, 'example'], 5)
  ],
  ['an example of a header that its schema refuses', 'oas3-valid-media-example', set([...header, 'example'], 'soon')],
  [
    'an example of a body that its schema refuses',
    'no-invalid-media-type-examples',
    set([...created, 'examples', 'full', 'value', 'id'], 'three')
  ],
  [
    'an example of a body with a property too many',
    'no-invalid-media-type-examples',
    set([...created, 'examples', 'full', 'value', 'age'], 3)
  ],
  [
    'an example of a body without a required property',
    'no-invalid-media-type-examples',
    del([...created, 'examples', 'full', 'value', 'name'])
  ],
  [
    'an example of a body with a wrong date',
    'no-invalid-media-type-examples',
    set(
      ['paths', '/messages', 'post', 'responses', '202', 'content', json, 'examples', 'hello', 'value', 'createdAt'],
      'today'
    )
  ],
  ['a body without examples', 'rule/body-has-examples', del([...created, 'examples'])],
  ['a header without an example', 'rule/header-has-example', del([...header, 'example'])],
  [
    'a request string without a length',
    'request-strings-bounded',
    del([...schemas, 'NewCategory', 'properties', 'description', 'maxLength'])
  ],
  [
    'a request array without a length',
    'request-arrays-bounded',
    set([...schemas, 'NewCategory', 'properties', 'tags'], { type: 'array', items: { type: 'boolean' } })
  ],
  [
    'a request object that takes anything',
    'request-objects-closed',
    del([...schemas, 'NewMessage', 'additionalProperties'])
  ],
  ['a server without its variable', 'no-undefined-server-variable', del(['servers', 1, 'variables'])],
  ['no servers', 'no-empty-servers', set(['servers'], [])],
  ['a tag without a description', 'tag-description', del(['tags', 0, 'description'])],
  ['no licence', 'info-license', del(['info', 'license'])],
  ['script in a description', 'no-script-tags-in-markdown', set(['info', 'description'], 'A <script>b()</script>')],
  ['an operation without its 429', 'rule/operation-has-errors', del([...create, 'responses', '429'])],
  [
    'a 429 without Retry-After',
    'response-contains-header',
    del(['components', 'responses', 'TooManyRequests', 'headers', 'Retry-After'])
  ],
  ['an error without a body', 'error-has-body', del(['components', 'responses', 'TooManyRequests', 'content'])],
  ['a GET with a body', 'get-has-no-body', set([...list, 'requestBody'], { content: {} })],
  ['an operation without a key', 'operation-needs-key', set([...list, 'security'], [])],
  ['an operation whose key is optional', 'operation-needs-key', set([...list, 'security'], [{}, { bearerAuth: [] }])],
  [
    'a property without a description',
    'property-described',
    del([...schemas, 'Category', 'properties', 'name', 'description'])
  ],
  [
    'a query without an end',
    'parameters-bounded',
    set([...list, 'parameters', 1], { name: 'q', in: 'query', description: 'x', schema: { type: 'string' } })
  ],
  [
    'deprecated without a sunset',
    'rule/deprecated-has-dates',
    all(set([...list, 'deprecated'], true), set([...list, 'x-deprecated-at'], '2026-01-01'))
  ],
  [
    'deprecated without the date of it',
    'rule/deprecated-has-dates',
    all(set([...list, 'deprecated'], true), set([...list, 'x-sunset'], '2027-01-01'))
  ],
  ['a sunset of what is not deprecated', 'rule/dates-are-of-deprecated', set([...list, 'x-sunset'], '2027-01-01')],
  [
    'a response that the serializer could not write',
    'start',
    set([...created, 'schema'], { oneOf: [{ $ref: '#/components/schemas/Category' }] })
  ],
  [
    'deprecated with less than six months to live',
    'deprecation-notice',
    all(
      set([...list, 'deprecated'], true),
      set([...list, 'x-deprecated-at'], '2026-01-01'),
      set([...list, 'x-sunset'], '2026-06-30')
    )
  ],
  [
    'a document that the service does not start with',
    'start',
    set(['servers', 0, 'url'], 'https://api.petstore.example/v1')
  ]
]

/** Adds paths, each with a copy of an operation that is right. */
function pathsOf(...paths: string[]): Edit {
  return (d) => {
    for (const [i, one] of paths.entries()) {
      const operation = (
        d.toJS() as { paths: Record<string, { post: { operationId: string; parameters?: object[] } }> }
      ).paths['/categories']?.post
      const parameters = [...one.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        description: 'x',
        schema: { type: 'integer' }
      }))
      d.setIn(['paths', one], d.createNode({ post: { ...operation, operationId: `other${i}`, parameters } }))
    }
  }
}

/** What is found in openapi.yaml after the edit. */
function lintWith(t: Test, edit: Edit) {
  const document = parseDocument(readFileSync('openapi.yaml', 'utf8'))
  edit(document)
  const file = path.join(t.testdir(), 'openapi.yaml')
  writeFileSync(file, document.toString())
  return lintDocument(file)
}

t.test('the linters have nothing to say of openapi.yaml', async (t) => {
  t.same(await lintDocument('openapi.yaml'), [])
})

t.test('text that is not YAML is one finding, with its line', async (t) => {
  const file = path.join(t.testdir(), 'openapi.yaml')
  writeFileSync(file, 'openapi: 3.0.3\ninfo:\n\ttitle: x')
  const message = 'Tabs are not allowed as indentation at line 3, column 1'
  t.same(await lintDocument(file), [{ place: file, rule: 'start', message }])
})

t.test('an operation that was deprecated in time is in order', async (t) => {
  const deprecated = all(
    set([...list, 'deprecated'], true),
    set([...list, 'x-deprecated-at'], '2026-01-01'),
    set([...list, 'x-sunset'], '2026-07-01')
  )
  t.same(await lintWith(t, deprecated), [])
})

for (const [title, rule, edit] of faults) {
  t.test(`${title} is found`, async (t) => {
    const found = (await lintWith(t, edit)).map((finding) => finding.rule)
    t.ok(found.includes(rule), `${rule} is among: ${found.join(', ')}`)
  })
}
