import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { parse } from 'yaml'
import { readApiDocument } from '../../../src/framework/openapi/document.ts'

/** A change of the API that clients can see. */
export interface Change {
  /** Method and path; undefined for a change of the whole document. */
  operation: string | undefined
  isBreaking: boolean
  text: string
}

interface OasdiffChange {
  text: string
  /** 1: information, 2: warning, 3: error. */
  level: number
  operation?: string
  path?: string
}

interface OasdiffDiff {
  endpoints?: { deleted?: { method: string; path: string }[] }
  servers?: { deleted?: string[] }
}

const folder = import.meta.dirname

/** Only the YAML output lists endpoints. */
const format = [
  '--format',
  'yaml',
  '--flatten-allof',
  '--flatten-params',
  '--include-path-params'
]

/** Days of notice in docs/versioning.md: the shortest six months have 181. */
const notice = ['--deprecation-days-stable', '181']
const severities = ['--severity-levels', path.join(folder, 'severity.txt')]

/** Returns the changes between two OpenAPI files, breaking ones first. */
export function compare(before: string, after: string): Change[] {
  const changes = [
    ...removals(before, after),
    ...changelog(before, after),
    ...scopeChanges(before, after)
  ]

  return changes.sort((a, b) => Number(b.isBreaking) - Number(a.isBreaking))
}

/**
 * Removed operations and servers: oasdiff permits the removal of an operation
 * after its sunset, and does not compare servers.
 */
function removals(before: string, after: string): Change[] {
  const diff = oasdiff<OasdiffDiff>('diff', before, after)
  const operations = diff.endpoints?.deleted ?? []
  const servers = diff.servers?.deleted ?? []

  return [
    ...operations.map((endpoint) => ({
      operation: `${endpoint.method} ${endpoint.path}`,
      isBreaking: true,
      text: 'removed'
    })),
    ...servers.map((url) => ({
      operation: undefined,
      isBreaking: true,
      text: `server \`${url}\` removed`
    }))
  ]
}

function changelog(before: string, after: string): Change[] {
  const options = [...severities, ...notice, before, after]
  const changes = oasdiff<OasdiffChange[]>('changelog', ...options)

  return changes.map((change) => ({
    operation: change.operation && `${change.operation} ${change.path}`,
    isBreaking: change.level > 1,
    text: change.text
  }))
}

/**
 * What keys must have for an operation of both documents. oasdiff does not
 * compare extensions. A key without a new scope gets a 403. Only an operation
 * that had no scope at all may get one: it is of a time when each key could do
 * everything, and such keys keep that.
 */
function scopeChanges(before: string, after: string): Change[] {
  const earlier = scopesOf(before)
  const changes: Change[] = []

  for (const [operation, scopes] of scopesOf(after)) {
    const former = earlier.get(operation)
    if (former === undefined) continue

    const isBreaking = former.length > 0
    for (const scope of added(former, scopes))
      changes.push({ operation, isBreaking, text: `needs the scope ${scope}` })
    for (const scope of added(scopes, former)) {
      const text = `no longer needs the scope ${scope}`
      changes.push({ operation, isBreaking: false, text })
    }
  }

  return changes
}

const added = (before: string[], after: string[]) =>
  after.filter((scope) => !before.includes(scope))

/** The scopes of each operation, by method and path. */
const scopesOf = (file: string): Map<string, string[]> =>
  new Map(
    readApiDocument(file).operations.map(({ method, path: url, scopes }) => [
      `${method} ${url}`,
      scopes
    ])
  )

const programs = path.resolve(folder, '../.venv/bin')
const environment = {
  ...process.env,
  PATH: [programs, process.env['PATH']].join(path.delimiter)
}

/** Runs a program. Returns what it printed. */
function run(program: string, ...options: string[]): string {
  return execFileSync(program, options, {
    cwd: program === 'go' ? folder : process.cwd(),
    encoding: 'utf8',
    env: environment,
    maxBuffer: 2 ** 28
  })
}

let program: string | undefined

/** Runs oasdiff. Go builds it at the first use, and keeps it in its cache. */
function oasdiff<Output>(command: string, ...options: string[]): Output {
  program ??= run('go', 'tool', '-n', 'oasdiff').trim()
  const output = run(program, command, ...format, ...options)
  // Without the warnings about keys that are objects, which oasdiff writes too.
  return parse(output, { logLevel: 'error' }) as Output
}
