// Lints openapi.yaml with redocly.yaml: exits 1 for what the service cannot
// serve. House style is printed, too.
import {
  formatProblems,
  getTotals,
  lint,
  loadConfig
} from '@redocly/openapi-core'

const problems = await lint({
  ref: 'openapi.yaml',
  config: await loadConfig({ configPath: 'tools/contract/lint/redocly.yaml' })
})
const totals = getTotals(problems)
formatProblems(problems, { totals })
if (totals.errors > 0) process.exitCode = 1
