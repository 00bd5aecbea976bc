import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const revisionsFile = 'tools/contract/released/revisions'

/** Whether this clone has the commit. */
function isHere(revision: string): boolean {
  const { status } = spawnSync('git', ['cat-file', '-e', `${revision}^{}`], {
    cwd: root,
    stdio: 'ignore'
  })
  return status === 0
}

/**
 * Returns the revision of the last release.
 *
 * @throws Error if the clone lacks it, as a shallow clone does
 */
export function lastRelease(): string {
  const revisions = readFileSync(path.join(root, revisionsFile), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const revision = revisions.find(isHere)
  if (revision === undefined) {
    throw new Error(
      `This clone has none of ${revisions.join(', ')}: git fetch --unshallow --tags`
    )
  }
  return revision
}

/** Runs a program in a folder. Only its errors are printed. */
function run(cwd: string, program: string, ...options: string[]): void {
  execFileSync(program, options, {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit']
  })
}

/** Writes files of a revision to a folder: all, or those below the paths. */
export function extract(
  revision: string,
  folder: string,
  ...paths: string[]
): void {
  const archive = path.join(folder, 'release.tar')

  run(root, 'git', 'archive', '--output', archive, revision, ...paths)
  run(folder, 'tar', '-xf', archive)
}

/** Builds the code of a revision in a new folder. Returns the folder. */
export function build(revision: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-release-'))
  const quickly = ['--prefer-offline', '--ignore-scripts', '--no-audit']

  extract(revision, folder)
  run(folder, 'npm', 'ci', '--omit=optional', ...quickly)
  run(folder, 'npm', 'run', '-s', 'build')
  return folder
}
