// Compares openapi.yaml with the document that was released last, and prints the changelog entry of what changed: exits 1 when
// the changes are not what info.version promises. With --write the entry goes to CHANGELOG.md; with --release the document
// also becomes the released one, and the version in CHANGELOG.md is dated.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { entry, release, writeEntry } from './contract/changelog.ts'
import { compare } from './contract/compare.ts'
import { readDocument } from './contract/document.ts'
import { versionProblems } from './contract/version.ts'

const released = 'tools/gate/released.yaml'
const changelogFile = 'CHANGELOG.md'
const isRelease = process.argv.includes('--release')
const isWrite = isRelease || process.argv.includes('--write')

try {
  const before = readDocument(released)
  const after = readDocument('openapi.yaml')
  const { version } = after.info
  const changes = compare(released, 'openapi.yaml')
  const text = entry(changes)
  console.log(text === '' ? `No change since ${before.info.version}.` : text.trimEnd())

  const problems = versionProblems(before, after, changes)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  let changelog = writeEntry(readFileSync(changelogFile, 'utf8'), version, text)
  if (isRelease) changelog = release(changelog, version, new Date().toISOString().slice(0, 10))
  if (isWrite) writeFileSync(changelogFile, changelog)
  if (isRelease) copyFileSync('openapi.yaml', released)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
