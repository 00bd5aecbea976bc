import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** A change as `oasdiff changelog --format json` tells it. */
export interface OasdiffChange {
  /** One of `oasdiff checks changelog`. */
  id: string
  text: string
  /** 1 for information, 2 for a warning, 3 for an error. */
  level: number
  /** The method of the operation; absent when the change is not of one. */
  operation?: string
  path?: string
}

/** oasdiff's program: built by the Go of gate/requirements.txt, and kept in Go's cache. */
let program: string | undefined

/** What is written in another way and means the same is no change. */
const flags = ['--format', 'json', '--flatten-allof', '--flatten-params']

/**
 * What oasdiff finds between two documents.
 *
 * @throws Error with what oasdiff says of a file that is not OpenAPI
 */
export function oasdiff(before: string, after: string): OasdiffChange[] {
  program ??= buildOasdiff()
  const json = execFileSync(program, ['changelog', ...flags, before, after], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28
  })
  return JSON.parse(json) as OasdiffChange[]
}

function buildOasdiff(): string {
  const tools = fileURLToPath(new URL('../.venv/bin', import.meta.url))
  const file = execFileSync('go', ['tool', '-n', 'oasdiff'], {
    cwd: new URL('../oasdiff/', import.meta.url),
    encoding: 'utf8',
    env: { ...process.env, PATH: [tools, process.env['PATH']].join(path.delimiter) }
  })
  return file.trim()
}
