import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { entry, release, writeEntry } from './contract/changelog.ts'
import { type Change, compare } from './contract/compare.ts'
import { versionProblems } from './contract/version.ts'
import { all, del, type Edit, type Path, set } from './edits.ts'

const base = 'tools/gate/contract/pets.yaml'

const list = ['paths', '/pets', 'get']
const create = ['paths', '/pets', 'post']
const one = ['paths', '/pets/{petId}', 'get']
const S = ['components', 'schemas']
const N = [...S, 'NewPet']
const P = [...S, 'Pet']
const json = 'application/json'

/** Of a property that a request has, and of one that a response has. */
const np = (name: string, ...rest: Path): Path => [...N, 'properties', name, ...rest]
const pp = (name: string, ...rest: Path): Path => [...P, 'properties', name, ...rest]
const rs = (operation: Path, status: string, ...rest: Path): Path => [...operation, 'responses', status, ...rest]

const add =
  (at: Path, value: unknown): Edit =>
  (d) =>
    d.addIn(at, d.createNode(value))
const ren =
  (from: Path, to: Path): Edit =>
  (d) => {
    const value = d.getIn(from, true)
    d.deleteIn(from)
    d.setIn(to, value)
  }
/** Changes the text, wherever it stands. */
const text =
  (from: string, to: string): Edit =>
  (d) => {
    d.contents = parseDocument(d.toString().replaceAll(from, to)).contents
  }

const breaking: [string, Edit][] = [
  [
    'response media type renamed',
    ren(rs(create, '201', 'content', json), rs(create, '201', 'content', 'application/vnd.pet+json'))
  ],
  [
    'request media type renamed',
    ren([...create, 'requestBody', 'content', json], [...create, 'requestBody', 'content', 'application/pet+json'])
  ],
  ['response header of another type', set(rs(list, '200', 'headers', 'ETag', 'schema', 'type'), 'integer')],
  ['request anyOf introduced that requires more', set([...N, 'anyOf'], [{ required: ['kind'] }])],
  ['request oneOf introduced that admits less', set(np('notes', 'oneOf'), [{ maxLength: 3 }])],
  ['parameter allOf introduced', set([...list, 'parameters', 1, 'schema', 'allOf'], [{ maxLength: 3 }])],
  ['request format date to date-time', set(np('born', 'format'), 'date-time')],
  ['security scheme renamed', text('bearerAuth', 'apiKey')],
  [
    'operation deprecated without notice',
    all(set([...list, 'deprecated'], true), set([...list, 'x-sunset'], '2000-01-01'))
  ],
  ['path removed', del(['paths', '/pets'])],
  ['deprecated operation removed, sunset passed', del(['paths', '/pets/{petId}'])],
  ['operation removed', del(create)],
  ['path renamed', ren(['paths', '/pets'], ['paths', '/animals'])],
  ['path parameter renamed', text('petId', 'id')],
  ['method changed', ren(create, ['paths', '/pets', 'put'])],
  ['success status removed', del(rs(create, '201'))],
  ['success status changed 201 to 200', ren(rs(create, '201'), rs(create, '200'))],
  ['error status removed', del(rs(create, '400'))],
  ['304 removed', del(rs(list, '304'))],
  ['response required property removed', all(del(pp('name')), set([...P, 'required'], ['id']))],
  ['response optional property removed', del(pp('notes'))],
  ['response property renamed', ren(pp('notes'), pp('remarks'))],
  ['response header removed (required)', del(rs(list, '200', 'headers', 'X-Total'))],
  ['response header removed (optional)', del(rs(list, '200', 'headers', 'ETag'))],
  ['response header made optional', set(rs(list, '200', 'headers', 'X-Total', 'required'), false)],
  ['response header type changed', set(rs(list, '200', 'headers', 'X-Total', 'schema', 'type'), 'string')],
  ['response media type removed', del(rs(list, '200', 'content', 'text/csv'))],
  ['request media type removed', del([...create, 'requestBody', 'content', 'application/xml'])],
  ['request property type changed', set(np('name', 'type'), 'integer')],
  ['response property type changed', set(pp('name', 'type'), 'integer')],
  ['request int64 to int32', set(np('age', 'format'), 'int32')],
  ['response int64 to int32', set(pp('id', 'format'), 'int32')],
  ['response int32 to int64', set(pp('age', 'format'), 'int64')],
  ['response format removed', del(pp('id', 'format'))],
  ['request format added', set(np('colour', 'format'), 'uuid')],
  ['request required added', set([...N, 'required'], ['name', 'kind'])],
  ['response required removed', set([...P, 'required'], ['id'])],
  [
    'new required request property',
    all(set(np('weight'), { type: 'number' }), set([...N, 'required'], ['name', 'weight']))
  ],
  ['request property removed', del(np('notes'))],
  ['request enum value removed', set(np('kind', 'enum'), ['dog'])],
  ['request enum introduced', set(np('colour', 'enum'), ['black', 'white'])],
  ['response enum value added', set(pp('kind', 'enum'), ['dog', 'cat', 'rabbit'])],
  ['response enum dropped', del(pp('kind', 'enum'))],
  ['parameter enum value removed', set([...list, 'parameters', 1, 'schema', 'enum'], ['dog'])],
  ['request maxLength lowered', set(np('name', 'maxLength'), 100)],
  ['request maxLength introduced', set(np('notes', 'maxLength'), 300)],
  ['request minLength raised', set(np('name', 'minLength'), 3)],
  ['request minLength introduced', set(np('notes', 'minLength'), 1)],
  ['request pattern changed', set(np('name', 'pattern'), '^[b-y]*$')],
  ['request pattern added', set(np('notes', 'pattern'), '^a')],
  ['request minimum raised', set(np('age', 'minimum'), 1)],
  ['request maximum lowered', set(np('age', 'maximum'), 99)],
  ['request exclusiveMinimum introduced', set(np('age', 'exclusiveMinimum'), true)],
  ['request multipleOf introduced', set(np('age', 'multipleOf'), 2)],
  ['request maxItems lowered', set(np('tags', 'maxItems'), 9)],
  ['request minItems raised', set(np('tags', 'minItems'), 2)],
  ['request uniqueItems introduced', set(np('tags', 'uniqueItems'), true)],
  ['request items type changed', set(np('tags', 'items', 'type'), 'integer')],
  ['request maxProperties introduced', set(np('free', 'maxProperties'), 3)],
  ['response maxLength raised', set(pp('name', 'maxLength'), 300)],
  ['response maxLength removed', del(pp('name', 'maxLength'))],
  ['response minLength lowered', set(pp('name', 'minLength'), 1)],
  ['response minimum lowered', set(pp('age', 'minimum'), -1)],
  ['response maximum raised', set(pp('age', 'maximum'), 101)],
  ['response maxItems raised', set(pp('tags', 'maxItems'), 11)],
  ['response minItems lowered', set(pp('tags', 'minItems'), 0)],
  ['response pattern removed', del(pp('name', 'pattern'))],
  ['response pattern changed', set(pp('name', 'pattern'), '^[b-y]*$')],
  ['response array maxItems raised (body)', set(rs(list, '200', 'content', json, 'schema', 'maxItems'), 200)],
  [
    'new required query param',
    add([...list, 'parameters'], { name: 'q', in: 'query', required: true, schema: { type: 'string' } })
  ],
  [
    'new required header param',
    set([...create, 'parameters'], [{ name: 'X-Tenant', in: 'header', required: true, schema: { type: 'string' } }])
  ],
  ['optional parameter removed', del([...list, 'parameters', 0])],
  ['parameter made required', set([...list, 'parameters', 0, 'required'], true)],
  ['parameter type changed', set([...list, 'parameters', 0, 'schema', 'type'], 'string')],
  ['path parameter int64 to int32', set([...one, 'parameters', 0, 'schema', 'format'], 'int32')],
  ['parameter moved query to header', set([...list, 'parameters', 0, 'in'], 'header')],
  ['parameter maximum lowered', set([...list, 'parameters', 0, 'schema', 'maximum'], 50)],
  ['parameter explode changed', set([...list, 'parameters', 0, 'explode'], false)],
  ['parameter default changed', set([...list, 'parameters', 0, 'schema', 'default'], 10)],
  ['request default changed', set(np('colour', 'default'), 'white')],
  ['request default removed', del(np('colour', 'default'))],
  ['request closed nested', set(np('free', 'additionalProperties'), false)],
  ['request made not nullable', del(np('notes', 'nullable'))],
  ['response made nullable', set(pp('notes', 'nullable'), true)],
  ['response map values of another type', set(pp('extra', 'additionalProperties', 'type'), 'integer')],
  ['request oneOf alternative removed', del(np('owner', 'oneOf', 1))],
  ['response oneOf alternative added', add(pp('owner', 'oneOf'), { type: 'boolean' })],
  ['requestBody made required', set([...create, 'requestBody', 'required'], true)],
  [
    'required requestBody added',
    set([...one, 'requestBody'], { required: true, content: { [json]: { schema: { type: 'object' } } } })
  ],
  ['requestBody removed', del([...create, 'requestBody'])],
  ['operationId renamed', set([...list, 'operationId'], 'getPets')],
  ['tag of operation changed', set([...list, 'tags'], ['Animals'])],
  ['component schema renamed', text('NewPet', 'PetInput')],
  ['global security scheme changed', set(['components', 'securitySchemes', 'bearerAuth', 'scheme'], 'basic')],
  ['global security replaced', set(['security'], [{ basicAuth: [] }])],
  ['operation security strengthened', set([...list, 'security'], [{ bearerAuth: [], basicAuth: [] }])],
  ['server path changed', set(['servers', 0, 'url'], '/v2')],
  ['request map values bound to a type', set(np('free', 'additionalProperties'), { type: 'string' })],
  ['response body removed', del(rs(create, '201', 'content'))],
  ['request property made readOnly', set(np('notes', 'readOnly'), true)],
  ['response property made writeOnly', set(pp('notes', 'writeOnly'), true)],
  ['request not introduced', set(np('notes', 'not'), { enum: ['x'] })],
  ['request allOf introduced', set(np('notes', 'allOf'), [{ maxLength: 3 }])],
  [
    'new required parameter of a path',
    set(['paths', '/pets', 'parameters'], [{ name: 'X-T', in: 'header', required: true, schema: { type: 'string' } }])
  ],
  ['servers removed', del(['servers'])],
  [
    'parameter written as JSON',
    all(
      del([...list, 'parameters', 0, 'schema']),
      set([...list, 'parameters', 0, 'content'], { [json]: { schema: { type: 'integer' } } })
    )
  ],
  ['sunset brought forward', set([...one, 'x-sunset'], '2019-01-01')],
  [
    'security scheme of another type',
    set(['components', 'securitySchemes', 'bearerAuth'], { type: 'apiKey', in: 'header', name: 'X-Key' })
  ],
  ['request items maxLength introduced', set(np('tags', 'items', 'maxLength'), 3)],
  ['response items made nullable', set(pp('tags', 'items', 'nullable'), true)],
  ['response map values of any type', set(pp('extra', 'additionalProperties'), true)],
  ['response array items changed', set(rs(list, '200', 'content', json, 'schema', 'items'), { type: 'string' })],
  ['response array  to  object', set(rs(list, '200', 'content', json, 'schema'), { type: 'object' })],
  ['parameter pattern introduced', set([...list, 'parameters', 1, 'schema', 'pattern'], '^d')],
  ['parameter minimum raised', set([...list, 'parameters', 0, 'schema', 'minimum'], 2)],
  ['response enum made nullable', set(pp('kind', 'nullable'), true)],
  ['request property of another type', set(np('notes'), { type: 'object' })],
  ['response property of any type', set(pp('notes'), {})],
  ['tag renamed everywhere', text('Pets', 'Beasts')],
  [
    'response header format introduced',
    set(rs(list, '200', 'headers', 'X-Total', 'schema'), { type: 'integer', format: 'int64' })
  ],
  ['parameter allowReserved', set([...list, 'parameters', 0, 'allowReserved'], true)],
  ['operation moved to another server', set([...list, 'servers'], [{ url: '/v3' }])],
  ['request minProperties introduced', set([...N, 'minProperties'], 2)]
]

const compatible: [string, Edit][] = [
  [
    'error status added',
    set(rs(create, '409'), {
      description: 'x',
      content: { [json]: { schema: { $ref: '#/components/schemas/Error' } } }
    })
  ],
  ['response property added', set(pp('weight'), { type: 'number' })],
  ['response header added', set(rs(list, '200', 'headers', 'X-New'), { schema: { type: 'string' } })],
  ['response media type added', set(rs(list, '200', 'content', 'application/xml'), { schema: { type: 'string' } })],
  ['request media type added', set([...create, 'requestBody', 'content', 'text/csv'], { schema: { type: 'string' } })],
  ['request type integer to number', set(np('age'), { type: 'number', minimum: 0, maximum: 100 })],
  ['request format removed', del(np('born', 'format'))],
  ['request required removed', set([...N, 'required'], [])],
  ['response required added', set([...P, 'required'], ['id', 'name', 'notes'])],
  ['new optional request property', set(np('weight'), { type: 'number' })],
  ['request enum value added', set(np('kind', 'enum'), ['dog', 'cat', 'rabbit'])],
  ['request enum dropped', del(np('kind', 'enum'))],
  ['response enum value removed', set(pp('kind', 'enum'), ['dog'])],
  ['parameter enum value added', set([...list, 'parameters', 1, 'schema', 'enum'], ['dog', 'cat', 'rabbit'])],
  ['request maxLength raised', set(np('name', 'maxLength'), 300)],
  ['request maxLength removed', del(np('name', 'maxLength'))],
  ['request minLength lowered', set(np('name', 'minLength'), 1)],
  ['request pattern removed', del(np('name', 'pattern'))],
  ['request minimum lowered', set(np('age', 'minimum'), -1)],
  ['request maximum raised', set(np('age', 'maximum'), 101)],
  ['request maxItems raised', set(np('tags', 'maxItems'), 11)],
  ['request minItems lowered', set(np('tags', 'minItems'), 0)],
  ['response maxLength lowered', set(pp('name', 'maxLength'), 100)],
  ['response maxLength introduced', set(pp('notes', 'maxLength'), 300)],
  ['response minLength raised', set(pp('name', 'minLength'), 3)],
  ['response minimum raised', set(pp('age', 'minimum'), 1)],
  ['response maximum lowered', set(pp('age', 'maximum'), 99)],
  ['response maxItems lowered', set(pp('tags', 'maxItems'), 9)],
  ['response pattern added', set(pp('notes', 'pattern'), '^a')],
  ['new optional query param', add([...list, 'parameters'], { name: 'q', in: 'query', schema: { type: 'string' } })],
  ['parameter made optional', set([...list, 'parameters', 1, 'required'], false)],
  ['parameter maximum raised', set([...list, 'parameters', 0, 'schema', 'maximum'], 200)],
  ['response default changed', set(pp('colour', 'default'), 'white')],
  ['request opened', set([...N, 'additionalProperties'], true)],
  ['request made nullable', set(np('kind', 'nullable'), true)],
  ['response made not nullable', del(pp('maybe', 'nullable'))],
  ['response closed', set([...P, 'additionalProperties'], false)],
  ['request oneOf alternative added', add(np('owner', 'oneOf'), { type: 'boolean' })],
  ['response oneOf alternative removed', del(pp('owner', 'oneOf', 1))],
  [
    '$ref inlined',
    set(rs(create, '400', 'content', json, 'schema'), {
      type: 'object',
      required: ['code', 'message', 'status'],
      properties: { code: { type: 'string' }, message: { type: 'string' }, status: { type: 'integer' } }
    })
  ],
  ['unused component added', set([...S, 'Other'], { type: 'string' })],
  ['global security alternative added', set(['security'], [{ bearerAuth: [] }, { basicAuth: [] }])],
  ['operation security dropped', set([...list, 'security'], [])],
  ['server added', add(['servers'], { url: 'https://b.example/v1' })],
  ['description changed', set([...list, 'description'], 'Other words')],
  ['summary changed', set([...list, 'summary'], 'Other words')],
  ['example added', set(rs(create, '201', 'content', json, 'example'), { id: 1, name: 'ab' })],
  [
    'new operation',
    set(['paths', '/pets', 'delete'], { operationId: 'deletePets', responses: { 204: { description: 'gone' } } })
  ],
  [
    'new path',
    set(['paths', '/owners'], { get: { operationId: 'listOwners', responses: { 200: { description: 'all' } } } })
  ],
  [
    'new open error code',
    set([...S, 'Error', 'properties', 'code', 'description'], 'An open set; at present: bad, worse, worst')
  ],
  ['operation deprecated', all(set([...list, 'deprecated'], true), set([...list, 'x-sunset'], '2999-01-01'))],
  ['no change', () => {}],
  [
    'response $ref in an allOf',
    set(rs(create, '201', 'content', json, 'schema'), {
      description: 'words',
      allOf: [{ $ref: '#/components/schemas/Pet' }]
    })
  ],
  [
    'request $ref in an allOf',
    set([...create, 'requestBody', 'content', json, 'schema'], { allOf: [{ $ref: '#/components/schemas/NewPet' }] })
  ],
  ['parameter moved to its path', ren([...one, 'parameters'], ['paths', '/pets/{petId}', 'parameters'])],
  ['additionalProperties written as {}', set(np('free', 'additionalProperties'), {})],
  ['response closed', set([...S, 'Error', 'additionalProperties'], false)],
  ['default response added', set(rs(create, 'default'), { description: 'x' })],
  ['response exclusiveMinimum introduced', set(pp('age', 'exclusiveMinimum'), true)],
  ['header in another case', text('ETag', 'etag')],
  ['response description changed', set(rs(create, '201', 'description'), 'words')],
  ['parameter deprecated', set([...list, 'parameters', 0, 'deprecated'], true)],
  ['property deprecated', set(pp('notes', 'deprecated'), true)],
  ['request property deprecated', set(np('notes', 'deprecated'), true)],
  ['sunset put off', set([...one, 'x-sunset'], '2040-01-01')],
  ['deprecation taken back', all(del([...one, 'deprecated']), del([...one, 'x-sunset']))],
  ['bearerFormat described', set(['components', 'securitySchemes', 'bearerAuth', 'bearerFormat'], 'JWT')],
  ['contact added', set(['info', 'contact'], { name: 'x' })],
  ['tag description changed', set(['tags', 0, 'description'], 'other')],
  ['response header maximum introduced', set(rs(list, '200', 'headers', 'X-Total', 'schema', 'maximum'), 5)]
]

function changesBy(t: Test, edit: Edit) {
  const document = parseDocument(readFileSync(base, 'utf8'))
  edit(document)
  const file = path.join(t.testdir(), 'pets.yaml')
  writeFileSync(file, document.toString())
  return compare(base, file)
}

t.test('what may break a client is told as breaking', (t) => {
  for (const [title, edit] of breaking)
    t.ok(
      changesBy(t, edit).some(({ isBreaking }) => isBreaking),
      title
    )
  t.end()
})

t.test('what breaks no client is not', (t) => {
  for (const [title, edit] of compatible)
    t.same(
      changesBy(t, edit).filter(({ isBreaking }) => isBreaking),
      [],
      title
    )
  t.end()
})

t.test('what changed is told once, by the operation', (t) => {
  const edit = all(set(np('kind', 'enum'), ['dog', 'cat', 'rabbit']), del(create.slice(0, 2).concat('get')))
  t.same(
    entry(changesBy(t, edit).filter(({ operation }) => operation !== 'createPet')),
    '- **Breaking:** `listPets`: the operation was removed\n'
  )
  t.match(entry(changesBy(t, edit)), /^- `createPet`: added the new `rabbit` enum value .*$/m)
  t.end()
})

const changes: Change[] = [{ operation: 'listPets', isBreaking: true, text: 'the operation was removed' }]

t.test('a breaking change needs another major version, at a path of its own', (t) => {
  const document = (version: string, url: string) => ({
    openapi: '3.0.3',
    info: { title: '', version },
    servers: [{ url }],
    paths: {}
  })
  const problems = (version: string, url: string, changed = changes) =>
    versionProblems(document('1.2.3', '/v1'), document(version, url), changed)
  t.same(problems('1.3.0', '/v1'), ['breaking changes since 1.2.3 need info.version 2.0.0, and a base path of its own'])
  t.same(problems('2.0.0', '/v2'), [])
  t.same(problems('2.0.0', '/v1'), ['info.version 2.0.0 must be served at a path that ends in /v2, not at /v1'])
  t.same(problems('1.2.3', '/v1', []), [])
  t.same(problems('1.10.0', '/v1', []), [])
  t.same(problems('1.2.2', '/v1', []), ['info.version went back from 1.2.3 to 1.2.2'])
  t.throws(() => problems('1.0', '/v1'), { message: 'info.version must be such as 1.2.3, not 1.0' })
  t.end()
})

t.test('the changelog gets the entry once, in the section of its version, beside what is written by hand', (t) => {
  const old = '## 1.0.0, 2026-01-02\n\n- First.\n'
  const text = entry(changes)
  const block = `### Interface\n\n${text}\n`
  const once = writeEntry(`# Changelog\n\n${old}`, '2.0.0', text)
  t.equal(once, `# Changelog\n\n## 2.0.0, not released yet\n\n${block}${old}`)
  t.equal(writeEntry(once, '2.0.0', text), once)

  const byHand = `## 2.0.0, not released yet\n\n- Faster.\n\n${old}`
  const both = writeEntry(byHand, '2.0.0', text)
  t.equal(both, `## 2.0.0, not released yet\n\n- Faster.\n\n${block}${old}`)
  t.equal(writeEntry(both, '2.0.0', text), both)
  t.equal(writeEntry(both, '2.0.0', ''), byHand)

  t.equal(writeEntry(old, '1.0.0', ''), old)
  t.equal(writeEntry(old, '2.0.0', ''), old)
  t.throws(() => writeEntry(old, '1.0.0', text), {
    message: '1.0.0 is released, as CHANGELOG.md says: raise info.version'
  })
  t.equal(release(byHand, '2.0.0', '2026-11-21'), `## 2.0.0, 2026-11-21\n\n- Faster.\n\n${old}`)
  t.throws(() => release(old, '1.0.0', '2026-11-21'), {
    message: 'CHANGELOG.md has no section "## 1.0.0, not released yet"'
  })
  t.end()
})
