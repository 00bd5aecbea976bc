import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { edit, type Edits } from '../edit.ts'

const list = 'paths /categories get'
const getPet = 'paths /pets/{petId} get'
const received = 'components schemas Pet properties'

const released = edit(readFileSync('openapi.yaml', 'utf8'), {
  [`${getPet} x-sunset`]: '2020-01-01'
})

/** Where the policy is stricter than oasdiff. */
const breaking: Record<string, Edits> = {
  'an operation removed after its sunset': { [getPet]: undefined },
  'an operation deprecated without notice': {
    [`${list} deprecated`]: true,
    [`${list} x-sunset`]: '2000-01-01'
  },
  'an operationId renamed': { [`${list} operationId`]: 'getCategories' },
  'a parameter with another default': {
    'components parameters Limit schema default': 10
  },
  'a response property removed': { [`${received} status`]: undefined },
  'a major version without its base path': { 'info version': '2.0.0' }
}

const compatible: Record<string, Edits> = {
  'a response property added': {
    [`${received} colour`]: { type: 'string', description: 'x' }
  },
  'an operation deprecated in time': {
    [`${list} deprecated`]: true,
    [`${list} x-sunset`]: '2999-01-01'
  },
  'anything in a new major version': {
    [getPet]: undefined,
    'info version': '2.0.0',
    servers: [{ url: '/v2' }]
  }
}

function expectStatus(expected: number, changes: Record<string, Edits>) {
  for (const [title, edits] of Object.entries(changes)) {
    t.test(`exits with ${expected} for ${title}`, (t) => {
      const after = edit(released, edits)
      const folder = t.testdir({ before: released, after })
      const { status, output } = spawnSync(
        'tools/contract/diff/diff.sh',
        [path.join(folder, 'before'), path.join(folder, 'after')],
        { encoding: 'utf8' }
      )
      t.equal(status, expected, output.join(''))
      t.end()
    })
  }
}

expectStatus(1, breaking)
expectStatus(0, compatible)
