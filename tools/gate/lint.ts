// Lints openapi.yaml: exits 1 when anything is found, at any severity.
import { lintDocument } from './lint/lint.ts'

const findings = await lintDocument('openapi.yaml')
for (const { place, rule, message } of findings) console.error(`${place} ${rule}: ${message.replace(/\s+/g, ' ')}`)
if (findings.length > 0) process.exitCode = 1
