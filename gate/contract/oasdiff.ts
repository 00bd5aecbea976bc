import { execFileSync } from 'node:child_process'

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

/** oasdiff's program: built by Go of the version in gate/oasdiff/go.mod, and kept in Go's cache. */
let program: string | undefined

/**
 * What oasdiff finds between two documents.
 *
 * @throws Error when there is no Go to build it with, or with what oasdiff says of a file that is not OpenAPI
 */
export function oasdiff(before: string, after: string): OasdiffChange[] {
  program ??= buildOasdiff()
  const json = execFileSync(program, ['changelog', '--format', 'json', before, after], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28
  })
  return JSON.parse(json) as OasdiffChange[]
}

function buildOasdiff(): string {
  try {
    const file = execFileSync('go', ['tool', '-n', 'oasdiff'], {
      cwd: new URL('../oasdiff/', import.meta.url),
      encoding: 'utf8'
    })
    return file.trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error('oasdiff is built by Go 1.26 or later: put `go` on the PATH', { cause: error })
  }
}
