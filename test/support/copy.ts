import { cpSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'

/** What a clone does not have, or what no test changes. */
const notCopied = ['.git', '.tap', '.data', 'dist', 'node_modules']

/**
 * Copies this repository, for tests that change its files.
 *
 * @returns the folder of the copy, which has the same packages
 */
export function copyRepository(t: Test): string {
  const copy = t.testdir({
    node_modules: t.fixture('symlink', path.resolve('node_modules'))
  })

  for (const name of readdirSync('.')) {
    if (notCopied.includes(name)) continue

    cpSync(name, path.join(copy, name), {
      recursive: true,
      filter: (file) => !notCopied.includes(path.basename(file))
    })
  }

  return copy
}
