// Lints openapi.yaml by the rules in redocly.yaml: exits 1 when anything is found.
import { formatProblems, getTotals, lint, loadConfig } from '@redocly/openapi-core'

const config = await loadConfig({ configPath: 'redocly.yaml' })
const problems = await lint({ ref: 'openapi.yaml', config })
const totals = getTotals(problems)
formatProblems(problems, { totals, version: 'openapi.yaml' })
if (problems.length > 0) process.exitCode = 1
