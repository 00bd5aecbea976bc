// Compares openapi.yaml with the last released document, which there is from
// the first release on, and prints what changed: exits 1 for a breaking change
// without a new major version. With
// --release, also dates the section of the version in CHANGELOG.md, lists the
// changes there, and makes openapi.yaml the released document.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import { type Change, compare } from './compare.ts'

const current = 'openapi.yaml'
const released = 'tools/contract/released/openapi.yaml'

interface Version {
  /** As in info.version: `1.2.3`. */
  text: string
  major: number
  /** The server that is a path. */
  basePath: string
}

function readVersion(file: string): Version {
  const yaml = readFileSync(file, 'utf8')
  const { info, servers } = parse(yaml) as OpenAPIV3.Document
  const ownServer = servers?.find(({ url }) => url.startsWith('/'))

  return {
    text: info.version,
    major: Number.parseInt(info.version),
    basePath: ownServer?.url ?? ''
  }
}

/** A change as an item of a list. */
function describe({ operation, isBreaking, text }: Change): string {
  const parts = [text]
  if (operation !== undefined) parts.unshift(`\`${operation}\`:`)
  if (isBreaking) parts.unshift('**Breaking:**')
  return `- ${parts.join(' ')}`
}

/** Returns what is wrong with the version, given the changes. */
function versionProblem(
  changes: Change[],
  before: Version | undefined,
  after: Version
): string | undefined {
  // oasdiff checks the version too, but without the changes that only
  // compare.ts finds.
  const isBreaking = changes.some((change) => change.isBreaking)
  if (before !== undefined && isBreaking && after.major <= before.major) {
    return (
      `Breaking changes since ${before.text} need info.version ` +
      `${before.major + 1}.0.0.`
    )
  }

  const basePath = `/v${after.major}`
  if (after.basePath !== basePath) {
    return (
      `info.version ${after.text} needs the base path ${basePath} among the ` +
      `servers, not ${after.basePath}.`
    )
  }

  return undefined
}

/**
 * Returns the changelog with a dated section of the version that lists the
 * changes, or undefined if it has no open section of the version.
 */
function releasedChangelog(
  changelog: string,
  version: string,
  changes: string[]
): string | undefined {
  const heading = `## ${version}, not released yet`
  const today = new Date().toISOString().slice(0, 10)
  const sections = changelog
    .split(/^(?=## )/m)
    .map((section) => section.trimEnd())
  const index = sections.findIndex((section) => section.startsWith(heading))
  const section = sections[index]
  if (section === undefined) return undefined

  const dated = section.replace(heading, `## ${version}, ${today}`)
  const list = changes.join('\n')
  sections[index] = list === '' ? dated : `${dated}\n\n### Interface\n\n${list}`

  return `${sections.join('\n\n')}\n`
}

function release(version: string, changes: string[]): void {
  const changelog = readFileSync('CHANGELOG.md', 'utf8')
  const after = releasedChangelog(changelog, version, changes)
  if (after === undefined) {
    fail(
      `CHANGELOG.md has no section "## ${version}, not released yet": set ` +
        'info.version to a new version.'
    )
    return
  }
  writeFileSync('CHANGELOG.md', after)
  mkdirSync(path.dirname(released), { recursive: true })
  copyFileSync(current, released)
}

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}

const isReleased = existsSync(released)
const before = isReleased ? readVersion(released) : undefined
const after = readVersion(current)
const changes = isReleased ? compare(released, current) : []
const lines = changes.map(describe)
const none =
  before === undefined
    ? 'No version is released yet.'
    : `No change since ${before.text}.`
console.log(lines.join('\n') || none)

const problem = versionProblem(changes, before, after)
if (problem !== undefined) fail(problem)
else if (process.argv.includes('--release')) release(after.text, lines)
