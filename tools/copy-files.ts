import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')

/** Copies the files that a fresh clone has. Returns their new folder. */
export function copyFiles(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-'))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8'
  })
  for (const file of files.trim().split('\n'))
    cpSync(path.join(root, file), path.join(folder, file))
  return folder
}
