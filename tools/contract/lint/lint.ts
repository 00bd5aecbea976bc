// Lints openapi.yaml with redocly.yaml: exits 1 for what the service cannot
// serve. House style is printed, too. Problems of one rule are shown together.
import { lint, loadConfig } from '@redocly/openapi-core'

try {
  const problems = await lint({
    ref: 'openapi.yaml',
    config: await loadConfig({ configPath: 'redocly.yaml' })
  })
  const rules: Record<string, typeof problems> = {}
  for (const problem of problems) (rules[problem.ruleId] ??= []).push(problem)

  for (const [rule, [first, ...others]] of Object.entries(rules)) {
    const { severity, message, location = [] } = { ...first }
    if (severity === 'error') process.exitCode = 1
    console.error(
      `${severity} ${rule}: ${message}\n` +
        `  ${location[0]?.pointer} and ${others.length} more`
    )
  }
} catch (error) {
  // The linter throws for text that is not YAML.
  console.error((error as Error).message)
  process.exitCode = 1
}
