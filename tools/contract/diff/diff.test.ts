import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { edit, type Edits } from '../edit.ts'

const list = 'paths /categories get'
const create = 'paths /categories post'
const pets = 'paths /pets get'
const getPet = 'paths /pets/{petId} get'
const sent = 'components schemas NewCategory properties'
const received = 'components schemas Pet properties'
const property = { type: 'string', description: 'x' }

const released = edit(readFileSync('openapi.yaml', 'utf8'), {
  [`${getPet} x-sunset`]: '2020-01-01'
})

/** Where the policy is stricter than oasdiff, and one change of each kind. */
const breaking: Record<string, Edits> = {
  'an operation removed': { [create]: undefined },
  'an operation removed after its sunset': { [getPet]: undefined },
  'an operation deprecated without a sunset': { [`${list} deprecated`]: true },
  'an operation deprecated without notice': {
    [`${list} deprecated`]: true,
    [`${list} x-sunset`]: '2000-01-01'
  },
  'an operationId renamed': { [`${list} operationId`]: 'getCategories' },
  'a tag renamed': { [`${list} tags`]: ['Animals'] },
  'a parameter with another default': {
    [`${pets} parameters 0 schema default`]: 10
  },
  'a request property required': {
    'components schemas NewCategory required': ['name', 'description']
  },
  'a request property with another type': { [`${sent} name type`]: 'integer' },
  'an error status removed': { [`${create} responses 400`]: undefined },
  'a response header removed': {
    [`${list} responses 200 headers ETag`]: undefined
  },
  'a response property removed': { [`${received} status`]: undefined },
  'a response property without an enum value': {
    [`${received} status enum`]: ['sold']
  },
  'a major version without its base path': { 'info version': '2.0.0' }
}

const compatible: Record<string, Edits> = {
  'no change': {},
  'an operation added': {
    'paths /owners': { get: { operationId: 'listOwners', responses: {} } }
  },
  'an optional request property added': { [`${sent} colour`]: property },
  'a response property added': { [`${received} colour`]: property },
  'an operation deprecated in time': {
    [`${list} deprecated`]: true,
    [`${list} x-sunset`]: '2999-01-01'
  },
  'anything in a new major version': {
    [create]: undefined,
    'info version': '2.0.0',
    servers: [{ url: '/v2' }]
  }
}

const run = (...files: string[]) =>
  spawnSync('tools/contract/diff/diff.sh', files, { encoding: 'utf8' })

const cases = [
  ...Object.entries(breaking).map((change) => [...change, 1] as const),
  ...Object.entries(compatible).map((change) => [...change, 0] as const)
]

for (const [title, edits, expected] of cases) {
  t.test(`exits with ${expected} for ${title}`, (t) => {
    const folder = t.testdir({
      'before.yaml': released,
      'after.yaml': edit(released, edits)
    })
    const { status, stdout, stderr } = run(
      path.join(folder, 'before.yaml'),
      path.join(folder, 'after.yaml')
    )
    t.equal(status, expected, stdout + stderr)
    t.end()
  })
}
