import type { Change } from './compare.ts'

const unreleased = ', not released yet'
const title = '### Interface'

/** The lines of the changelog for changes, breaking ones first; empty for none. */
export function entry(changes: Change[]): string {
  return changes.map((change) => `- ${line(change)}\n`).join('')
}

function line({ operation, isBreaking, text }: Change): string {
  const said = operation === undefined ? text : `\`${operation}\`: ${text}`
  return isBreaking ? `**Breaking:** ${said}` : said
}

/**
 * The changelog with the entry under its own title at the end of the section of the version, which is made when it is not there. What
 * was under that title is replaced, so that doing it again changes nothing.
 *
 * @throws Error when there is something to write and the version is released already
 */
export function writeEntry(changelog: string, version: string, text: string): string {
  const section = findSection(changelog, version)
  if (section === undefined) {
    if (text === '') return changelog
    const first = changelog.search(/^## /m)
    const at = first === -1 ? changelog.length : first
    return `${changelog.slice(0, at)}## ${version}${unreleased}\n\n${title}\n\n${text}\n${changelog.slice(at)}`
  }
  if (!section.heading.endsWith(unreleased)) {
    if (text === '') return changelog
    throw new Error(`${version} is released, as CHANGELOG.md says: raise info.version`)
  }
  const byHand = section.body.replace(new RegExp(`\n${title}\n\n(- .*\n)*`), '').trimEnd()
  const block = text === '' ? '' : `\n${title}\n\n${text}`
  const after = section.after === '' ? '' : `\n${section.after}`
  return `${section.before}${section.heading}${byHand}\n${block}${after}`
}

/**
 * The changelog with the version released on the day, such as 2026-11-21.
 *
 * @throws Error when it has no section of the version that is not released yet
 */
export function release(changelog: string, version: string, day: string): string {
  const section = findSection(changelog, version)
  if (section === undefined || !section.heading.endsWith(unreleased)) {
    throw new Error(`CHANGELOG.md has no section "## ${version}${unreleased}"`)
  }
  return `${section.before}## ${version}, ${day}${section.body}${section.after}`
}

/** The section of a version: its heading, what follows it, and what is around them. */
function findSection(changelog: string, version: string) {
  const found = new RegExp(`^## ${version.replaceAll('.', '\\.')}(,.*)?$`, 'm').exec(changelog)
  if (found === null) return undefined
  const [heading] = found
  const start = found.index + heading.length
  const next = changelog.slice(start).search(/^## /m)
  const end = next === -1 ? changelog.length : start + next
  return {
    before: changelog.slice(0, found.index),
    heading,
    body: changelog.slice(start, end),
    after: changelog.slice(end)
  }
}
