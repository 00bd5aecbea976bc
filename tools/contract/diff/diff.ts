// Compares openapi.yaml with the last released document and prints what changed: exits 1 for a breaking change without a new
// major version. With --release, also dates the section of the version in CHANGELOG.md, lists the changes there, and makes
// openapi.yaml the released document.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import { type Change, compare } from './compare.ts'

const released = 'tools/contract/released/openapi.yaml'
const [before, after] = [read(released), read('openapi.yaml')]
const changes = compare(released, 'openapi.yaml')
const lines = changes.map((change) => `- ${line(change)}\n`).join('')
console.log(lines.trimEnd() || `No change since ${before.version}.`)

// oasdiff checks the version too, but without the changes that only compare.ts finds.
if (
  changes.some(({ isBreaking }) => isBreaking) &&
  after.major <= before.major
) {
  fail(
    `Breaking changes since ${before.version} need info.version ${before.major + 1}.0.0.`
  )
} else if (after.basePath !== `/v${after.major}`) {
  fail(
    `info.version ${after.version} needs the base path /v${after.major} in the first server, not ${after.basePath}.`
  )
} else if (process.argv.includes('--release')) {
  release(after.version)
}

function read(file: string) {
  const { info, servers } = parse(
    readFileSync(file, 'utf8')
  ) as OpenAPIV3.Document
  return {
    version: info.version,
    major: Number.parseInt(info.version),
    basePath: servers?.[0]?.url ?? ''
  }
}

function line({ operation, isBreaking, text }: Change): string {
  return [isBreaking && '**Breaking:**', operation && `\`${operation}\`:`, text]
    .filter(Boolean)
    .join(' ')
}

function release(version: string): void {
  const heading = `## ${version}, not released yet`
  const sections = readFileSync('CHANGELOG.md', 'utf8')
    .split(/^(?=## )/m)
    .map((section) => section.trimEnd())
  const index = sections.findIndex((section) => section.startsWith(heading))
  const section = sections[index]
  if (section === undefined)
    return fail(
      `CHANGELOG.md has no section "${heading}": set info.version to a new version.`
    )
  const dated = section.replace(
    heading,
    `## ${version}, ${new Date().toISOString().slice(0, 10)}`
  )
  sections[index] = lines
    ? `${dated}\n\n### Interface\n\n${lines.trimEnd()}`
    : dated
  writeFileSync('CHANGELOG.md', `${sections.join('\n\n')}\n`)
  copyFileSync('openapi.yaml', released)
}

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}
