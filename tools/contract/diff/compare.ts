import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
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

const directory = fileURLToPath(new URL('.', import.meta.url))
/** Months of notice in docs/versioning.md: the shortest six months have 181 days. */
const notice = ['--deprecation-days-stable', '181']
const severities = ['--severity-levels', path.join(directory, 'severity.txt')]

/** Returns the changes between two OpenAPI files, breaking ones first. */
export function compare(before: string, after: string): Change[] {
  const changelog = oasdiff<OasdiffChange[]>(
    'changelog',
    ...severities,
    ...notice,
    before,
    after
  )
  // oasdiff permits the removal of an operation after its sunset, and does not compare servers.
  const { endpoints, servers } = oasdiff<OasdiffDiff>('diff', before, after)
  const removed = [
    ...(endpoints?.deleted ?? []).map(({ method, path }) => ({
      operation: `${method} ${path}`,
      text: 'removed'
    })),
    ...(servers?.deleted ?? []).map((url) => ({
      operation: undefined,
      text: `server \`${url}\` removed`
    }))
  ].map((change) => ({ ...change, isBreaking: true }))
  const others = changelog.map(({ text, level, operation, path }) => ({
    operation: operation && `${operation} ${path}`,
    isBreaking: level > 1,
    text
  }))
  return [...removed, ...others].sort(
    (a, b) => Number(b.isBreaking) - Number(a.isBreaking)
  )
}

let program: string | undefined

/** Runs oasdiff. Go builds it at the first use, and keeps it in its cache. Only the YAML output lists endpoints. */
function oasdiff<T>(command: string, ...args: string[]): T {
  const PATH = [path.join(directory, '../.venv/bin'), process.env['PATH']].join(
    path.delimiter
  )
  const options = {
    encoding: 'utf8',
    env: { ...process.env, PATH },
    maxBuffer: 2 ** 28
  } as const
  program ??= execFileSync('go', ['tool', '-n', 'oasdiff'], {
    ...options,
    cwd: directory
  }).trim()
  const flags = [
    '--format',
    'yaml',
    '--flatten-allof',
    '--flatten-params',
    '--include-path-params'
  ]
  // Without its warnings about keys that are objects, which oasdiff writes too.
  return parse(execFileSync(program, [command, ...flags, ...args], options), {
    logLevel: 'error'
  }) as T
}
