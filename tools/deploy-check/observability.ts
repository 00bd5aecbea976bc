// What deploy/observability and docs/runbook.md have, for their tests.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parse } from 'yaml'

export const folder = 'deploy/observability'

interface Rule {
  alert?: string
  record?: string
  expr: string
  labels?: { severity?: string }
  annotations?: { summary?: string; runbook_url?: string }
}

const rulesText = readFileSync(`${folder}/rules.yml`, 'utf8')
const rulesFile = parse(rulesText) as { groups: { rules: Rule[] }[] }

export const rules = rulesFile.groups.flatMap((group) => group.rules)

export const alerts = rules.flatMap((rule) =>
  rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]
)

/** How often faster than its rule an alert fires. */
const haste = 60

const secondsOf: Record<string, number> = { s: 1, m: 60, h: 3600 }

/**
 * Writes the rules with a shorter `for`, so that a test sees alerts fire, and
 * returns the path of the file.
 */
export function writeHastyRules(): string {
  const hasty = rulesText.replaceAll(
    /\bfor: (\d+)([smh])$/gm,
    (_, count: string, unit: string) => {
      const seconds = Number(count) * Number(secondsOf[unit])
      return `for: ${Math.ceil(seconds / haste)}s`
    }
  )
  // npm test removes it.
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'petcat-')), 'rules')
  writeFileSync(file, hasty)
  return file
}

const runbook = readFileSync('docs/runbook.md', 'utf8')

/** The incidents in the table of docs/runbook.md, as in `runbook_url`. */
export const incidents = [
  ...runbook.matchAll(/^\| \[.+?\]\(#(incident-[\w-]+)\)/gm)
].map(([, anchor]) => `docs/runbook.md#${anchor}`)

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
