import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { parse } from 'yaml'

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
  const changes = [...removals(before, after), ...changelog(before, after)]
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
