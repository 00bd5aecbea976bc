import type { OpenAPIV3 } from 'openapi-types'
import type { Change } from './compare.ts'

/** What is wrong with info.version after the changes, by docs/versioning.md. */
export function versionProblems(before: OpenAPIV3.Document, after: OpenAPIV3.Document, changes: Change[]): string[] {
  const [from, to] = [before.info.version, after.info.version]
  const [major, ...minors] = parts(from)
  const [nowMajor, ...nowMinors] = parts(to)
  const problems: string[] = []
  if (nowMajor < major || (nowMajor === major && isLess(nowMinors, minors))) {
    problems.push(`info.version went back from ${from} to ${to}`)
  }
  if (changes.some(({ isBreaking }) => isBreaking) && nowMajor <= major) {
    problems.push(`breaking changes since ${from} need info.version ${major + 1}.0.0, and a base path of its own`)
  }
  const url = after.servers?.[0]?.url ?? ''
  if (!url.endsWith(`/v${nowMajor}`)) {
    problems.push(`info.version ${to} must be served at a path that ends in /v${nowMajor}, not at ${url || '/'}`)
  }
  return problems
}

function parts(version: string): [number, number, number] {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? []
  if (major === undefined) throw new Error(`info.version must be such as 1.2.3, not ${version}`)
  return [Number(major), Number(minor), Number(patch)]
}

const isLess = ([minor = 0, patch = 0]: number[], [otherMinor = 0, otherPatch = 0]: number[]) =>
  minor < otherMinor || (minor === otherMinor && patch < otherPatch)
