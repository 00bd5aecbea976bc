import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { edit, type Edits } from '../edit.ts'
import { compare } from './compare.ts'

const base = 'tools/contract/diff/pets.yaml'
const pets = readFileSync(base, 'utf8')

const list = 'paths /pets get'
const limit = `${list} parameters 0`
const kind = `${list} parameters 1`
const listed = `${list} responses 200`
const create = 'paths /pets post'
const one = 'paths /pets/{petId} get'
const sent = 'components schemas NewPet properties'
const received = 'components schemas Pet properties'
const text = { type: 'string' }
const required = { name: 'q', in: 'query', required: true, schema: text }

const breaking: Record<string, Edits> = {
  'a path removed': { 'paths /pets': undefined },
  'an operation removed': { [create]: undefined },
  'an operation removed after its sunset': { [one]: undefined },
  'an operation deprecated without notice': {
    [`${list} deprecated`]: true,
    [`${list} x-sunset`]: '2000-01-01'
  },
  'an operation deprecated without a sunset': { [`${list} deprecated`]: true },
  'an earlier sunset': { [`${one} x-sunset`]: '2019-01-01' },
  'an operationId renamed': { [`${list} operationId`]: 'getPets' },
  'a scope that was not needed': {
    [`${create} x-scopes`]: ['pets:write', 'owners:write']
  },
  'another scope': { [`${create} x-scopes`]: ['owners:write'] },
  'a tag renamed': { [`${list} tags`]: ['Animals'] },
  'a schema removed': { 'components schemas Owner': undefined },
  'a server removed': { 'servers 0 url': '/v2' },

  'a parameter removed': { [limit]: undefined },
  'a parameter required': { [`${limit} required`]: true },
  'a required parameter added': { [`${list} parameters 2`]: required },
  'a parameter moved': { [`${limit} in`]: 'header' },
  'a parameter of another type': { [`${limit} schema type`]: 'string' },
  'a parameter with another default': { [`${limit} schema default`]: 10 },
  'a parameter with a lower maximum': { [`${limit} schema maximum`]: 50 },
  'a parameter without an enum value': { [`${kind} schema enum`]: ['dog'] },
  'a body required': { [`${create} requestBody required`]: true },
  'a body removed': { [`${create} requestBody`]: undefined },
  'a request property removed': { [`${sent} notes`]: undefined },
  'a request property required': {
    'components schemas NewPet required': ['name', 'kind']
  },
  'a request property of another type': { [`${sent} name type`]: 'integer' },
  'a request property with a wider type': {
    [`${sent} age type`]: 'number',
    [`${sent} age format`]: undefined
  },
  'a request property with another format': {
    [`${sent} born format`]: 'date-time'
  },
  'a request property with a new format': { [`${sent} colour format`]: 'uuid' },
  'a request property with another default': {
    [`${sent} colour default`]: 'white'
  },
  'a request property without its default': {
    [`${sent} colour default`]: undefined
  },
  'a request property that may not be null': {
    [`${sent} notes nullable`]: undefined
  },
  'a request property with a lower maxLength': {
    [`${sent} name maxLength`]: 100
  },
  'a request property with a new maxLength': {
    [`${sent} notes maxLength`]: 300
  },
  'a request property with another pattern': {
    [`${sent} name pattern`]: '^[b-y]*$'
  },
  'a request property with a new enum': {
    [`${sent} colour enum`]: ['black', 'white']
  },
  'a request property without an enum value': {
    [`${sent} kind enum`]: ['dog']
  },
  'a request property with a new oneOf': {
    [`${sent} notes oneOf`]: [{ maxLength: 3 }]
  },
  'a request property with fewer alternatives': {
    [`${sent} owner oneOf 1`]: undefined
  },
  'request items with a maxLength': { [`${sent} tags items maxLength`]: 3 },

  'a success status removed': { [`${create} responses 201`]: undefined },
  'an error status removed': { [`${create} responses 400`]: undefined },
  'an optional response header removed': {
    [`${listed} headers ETag`]: undefined
  },
  'a response header that became optional': {
    [`${listed} headers X-Total required`]: false
  },
  'a response header of another type': {
    [`${listed} headers ETag schema type`]: 'integer'
  },
  'a response body removed': { [`${create} responses 201 content`]: undefined },
  'an optional response property removed': { [`${received} notes`]: undefined },
  'a response property that became optional': {
    'components schemas Pet required': ['id']
  },
  'a response property that may be null': {
    [`${received} notes nullable`]: true
  },
  'a response property of another type': {
    [`${received} name type`]: 'integer'
  },
  'a response property of any type': { [`${received} notes`]: {} },
  'a response property from int64 to int32': {
    [`${received} id format`]: 'int32'
  },
  'a response property from int32 to int64': {
    [`${received} age format`]: 'int64'
  },
  'a response property with a new enum value': {
    [`${received} kind enum`]: ['dog', 'cat', 'rabbit']
  },
  'a response property without an enum value': {
    [`${received} kind enum`]: ['dog']
  },
  'a response property without its enum': {
    [`${received} kind enum`]: undefined
  },
  'a response property with a higher maxLength': {
    [`${received} name maxLength`]: 300
  },
  'a response property without a pattern': {
    [`${received} name pattern`]: undefined
  },
  'response items of another type': {
    [`${received} tags items type`]: 'integer'
  }
}

const compatible: Record<string, Edits> = {
  'no change': {},
  'other descriptions': {
    [`${list} description`]: 'Other words',
    [`${create} responses 201 description`]: 'Other'
  },
  'an operation added': {
    'paths /owners': { get: { operationId: 'listOwners', responses: {} } }
  },
  'an operation deprecated in time': {
    [`${list} deprecated`]: true,
    [`${list} x-sunset`]: '2999-01-01'
  },
  'a later sunset': { [`${one} x-sunset`]: '2999-01-01' },
  'a deprecation withdrawn': {
    [`${one} deprecated`]: undefined,
    [`${one} x-sunset`]: undefined
  },
  'the first scope of an operation': { [`${list} x-scopes`]: ['pets:read'] },
  'a scope that is no longer needed': { [`${create} x-scopes`]: [] },
  'a schema added': { 'components schemas Vet': { type: 'object' } },
  'a server added': { 'servers 1': { url: 'https://pets.example/v1' } },
  'an optional parameter added': {
    [`${list} parameters 2`]: { ...required, required: false }
  },
  'a parameter that became optional': { [`${kind} required`]: false },
  'a parameter with a higher maximum': { [`${limit} schema maximum`]: 200 },
  'an optional request property added': {
    [`${sent} weight`]: { type: 'number' }
  },
  'a request property that became optional': {
    'components schemas NewPet required': []
  },
  'a request property that may be null': { [`${sent} kind nullable`]: true },
  'a request property with a higher maxLength': {
    [`${sent} name maxLength`]: 300
  },
  'a request property without a pattern': {
    [`${sent} name pattern`]: undefined
  },
  'a request property with a new enum value': {
    [`${sent} kind enum`]: ['dog', 'cat', 'rabbit']
  },
  'an error status added': {
    [`${create} responses 409`]: { description: 'x' }
  },
  'a response header added': { [`${listed} headers X-New`]: { schema: text } },
  'a response property added': { [`${received} weight`]: { type: 'number' } },
  'a response property always present': {
    'components schemas Pet required': ['id', 'name', 'notes']
  },
  'a response property that may not be null': {
    [`${received} maybe nullable`]: undefined
  },
  'a response property with a lower maxLength': {
    [`${received} name maxLength`]: 100
  },
  'a response schema in an allOf': {
    [`${create} responses 201 content application/json schema`]: {
      allOf: [{ $ref: '#/components/schemas/Pet' }]
    }
  }
}

/** Whether a client may break when pets.yaml is edited so. */
function isBreaking(t: Test, edits: Edits): boolean {
  const file = path.join(
    t.testdir({ 'pets.yaml': edit(pets, edits) }),
    'pets.yaml'
  )
  return compare(base, file).some((change) => change.isBreaking)
}

t.test('these changes are breaking', (t) => {
  for (const [title, edits] of Object.entries(breaking))
    t.ok(isBreaking(t, edits), title)
  t.end()
})

t.test('these changes are not breaking', (t) => {
  for (const [title, edits] of Object.entries(compatible))
    t.notOk(isBreaking(t, edits), title)
  t.end()
})

const changelog = `# Changelog

## 1.1.0, not released yet

- Faster.

## 1.0.0, 2026-01-02

- First.
`

/** Runs a program in a folder. Returns its exit code and output. */
function run(cwd: string, program: string, ...options: string[]) {
  const { status, stdout, stderr } = spawnSync(program, options, {
    cwd,
    encoding: 'utf8'
  })
  return { status, output: stdout + stderr }
}

const released = 'tools/contract/released/openapi.yaml'

/**
 * Runs `npm run diff` in a folder where pets.yaml is released and has become
 * openapi.yaml by the edits.
 */
function runDiff(t: Test, edits: Edits, ...options: string[]) {
  return runDiffIn(t, edits, pets, ...options)
}

/** @param last the released document; undefined before the first release */
function runDiffIn(
  t: Test,
  edits: Edits,
  last: string | undefined,
  ...options: string[]
) {
  const folder = t.testdir({
    'openapi.yaml': edit(pets, edits),
    'CHANGELOG.md': changelog
  })
  if (last !== undefined) {
    const file = path.join(folder, released)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, last)
  }
  const program = path.resolve('tools/contract/diff/diff.ts')
  const loader = ['--import', import.meta.resolve('tsx')]
  const result = run(folder, process.execPath, ...loader, program, ...options)
  const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')
  return { ...result, read }
}

t.test('a breaking change needs a new major version', (t) => {
  const change = { [create]: undefined, 'info version': '1.1.0' }
  const removed = /- \*\*Breaking:\*\* `POST \/pets`: removed[^]*2\.0\.0/
  t.match(runDiff(t, change), { status: 1, output: removed })
  t.end()
})

t.test('a new major version needs its base path', (t) => {
  const change = { [create]: undefined, 'info version': '2.0.0' }
  const withoutPath = runDiff(t, change)
  t.match(withoutPath, { status: 1, output: /base path \/v2/ })

  const withPath = runDiff(t, { ...change, 'servers 0 url': '/v2' })
  t.match(withPath, { status: 0 })
  t.end()
})

const added = { [`${received} weight`]: { type: 'number' } }

t.test('a release lists the changes in the section of its version', (t) => {
  const edits = { ...added, 'info version': '1.1.0' }
  const { status, read } = runDiff(t, edits, '--release')
  t.equal(status, 0)

  const [, heading, earlier] = read('CHANGELOG.md').split(/^## /m)
  t.match(heading, /^1\.1\.0, \d{4}-\d\d-\d\d\n\n- Faster\./)
  t.match(heading, /\n\n### Interface\n\n(- `.+\n)+\n$/)
  t.match(earlier, /^1\.0\.0, 2026-01-02/, 'earlier sections stay')
  t.end()
})

t.test('a release becomes the released document', (t) => {
  const edits = { ...added, 'info version': '1.1.0' }
  const { read } = runDiff(t, edits, '--release')
  t.equal(read(released), read('openapi.yaml'))
  t.end()
})

t.test('before the first release, no change is breaking', (t) => {
  const change = { [create]: undefined, 'info version': '1.1.0' }
  t.match(runDiffIn(t, change, undefined), {
    status: 0,
    output: 'No version is released yet.'
  })

  const { status, read } = runDiffIn(t, change, undefined, '--release')
  t.equal(status, 0)
  t.equal(read(released), read('openapi.yaml'))
  t.end()
})

t.test('a version is released once', (t) => {
  t.match(runDiff(t, added, '--release'), {
    status: 1,
    output: /no section "## 1\.0\.0, not released yet"/
  })
  t.end()
})
