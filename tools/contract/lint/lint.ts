// Lints openapi.yaml with redocly.yaml: exits 1 for any problem, at any
// severity.
import {
  formatProblems,
  getTotals,
  lint,
  loadConfig
} from '@redocly/openapi-core'

try {
  const problems = await lint({
    ref: 'openapi.yaml',
    config: await loadConfig({ configPath: 'redocly.yaml' })
  })
  formatProblems(problems, { format: 'stylish', totals: getTotals(problems) })
  if (problems.length > 0) process.exitCode = 1
} catch (error) {
  // The linter throws for text that is not YAML.
  console.error((error as Error).message)
  process.exitCode = 1
}
