// What deploy/observability and docs/runbook.md have, for their tests.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parse } from 'yaml'

const folder = 'deploy/observability'

interface Alert {
  alert: string
  labels: { severity: string }
  annotations: { summary: string; runbook_url: string }
}

interface RulesFile {
  groups: { rules: ({ record: string } | Alert)[] }[]
}

const rulesText = readFileSync(`${folder}/rules.yml`, 'utf8')
const { groups } = parse(rulesText) as RulesFile

export const alerts = groups
  .flatMap(({ rules }) => rules)
  .filter((rule) => 'alert' in rule)

/** The tests of promtool. */
export const promtoolTests = readFileSync(`${folder}/rules.test.yml`, 'utf8')

/**
 * Writes the rules with seconds for the minutes of `for`, so that a test sees
 * alerts fire, and returns the path of the file.
 */
export function writeHastyRules(): string {
  const hasty = rulesText
    .replaceAll('for: 30s', 'for: 1s')
    .replaceAll(/(for: \d+)m$/gm, '$1s')
  // npm test removes it.
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'petcat-')), 'rules')
  writeFileSync(file, hasty)
  return file
}

const runbook = readFileSync('docs/runbook.md', 'utf8')

/** The items of the list of docs/runbook.md, by the `runbook_url`. */
export const incidents = new Map(
  [...runbook.matchAll(/^- \[.+?\]\(#(incident-[\w-]+)\)(?:.|\n {2})*/gm)].map(
    ([item, anchor]) => [`docs/runbook.md#${anchor}`, item]
  )
)

/** A panel of the dashboard, or the heading of some. */
interface Panel {
  title: string
  targets?: { expr: string }[]
}

/** The expressions of the dashboard, each with the title of its panel. */
export function dashboardExpressions() {
  const text = readFileSync(`${folder}/dashboard.json`, 'utf8')
  const { panels } = JSON.parse(text) as { panels: Panel[] }

  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr }))
  )
}
