// Compares the running service with the document that it serves, by Schemathesis with all its checks; exits 1 when an answer
// is not as documented, when too little was asked, or when the service logged a fault of its own. Takes a seed, or makes one.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLiveService } from './live-service.ts'

const casesAtLeast = 5000
const casesForOperation = 2000
/** Milliseconds after which a run that hangs is ended; one takes two minutes on two cores. */
const timeout = 600_000

/** What is read of Schemathesis's report in JSON. */
interface Report {
  complete: boolean
  operations: { total: number; tested: number }
  test_cases: { generated: number; without_checks: number }
  /** By kind, what hints at a run that proves less than it seems to. */
  warnings: Record<string, unknown[]>
}

const schemathesis = fileURLToPath(new URL('.venv/bin/schemathesis', import.meta.url))
const seed = process.argv[2] ?? String(randomInt(2 ** 32))
const replay = `npm run conformance -- ${seed}`
console.log(`Seed ${seed}; the same cases again: ${replay}`)

const directory = mkdtempSync(path.join(tmpdir(), 'petcat-conformance-'))
const report = path.join(directory, 'report.json')
const service = await startLiveService()
const { status, signal } = spawnSync(
  schemathesis,
  [
    ...['run', new URL('/openapi.yaml', service.baseUrl).href, '--header', `Authorization: Bearer ${service.key}`],
    ...['--checks', 'all', '--phases', 'examples,coverage,fuzzing,stateful'],
    ...['--max-examples', String(casesForOperation), '--request-timeout', '10'],
    // One worker, and no memory of earlier runs: a seed gives the same cases in the same order.
    ...['--seed', seed, '--workers', '1', '--generation-database', 'none'],
    ...['--report', 'json', '--report-json-path', report]
  ],
  { cwd: directory, stdio: 'inherit', timeout }
)
const logged = await service.stop()
const faults = [
  ...(status === 0
    ? shortcomings(JSON.parse(readFileSync(report, 'utf8')) as Report)
    : [`Schemathesis ended with ${status ?? signal}`]),
  ...(logged === '' ? [] : [`the service logged:\n${logged}`])
]
rmSync(directory, { recursive: true })

for (const fault of faults) console.error(`Not conforming: ${fault}`)
if (faults.length > 0) {
  console.error(`The same cases again: ${replay}`)
  process.exitCode = 1
}

/** What makes a run that found no failure prove too little. */
function shortcomings({ complete, operations, test_cases: cases, warnings }: Report): string[] {
  const checked = cases.generated - cases.without_checks
  return [
    ...(complete ? [] : ['the run was cut off']),
    ...(operations.tested === operations.total
      ? []
      : [`${operations.tested} of ${operations.total} operations were tested`]),
    ...(checked >= casesAtLeast ? [] : [`${checked} cases were checked, and must be ${casesAtLeast} or more`]),
    ...Object.entries(warnings).flatMap(([kind, found]) =>
      found.length === 0 ? [] : [`${kind}: ${JSON.stringify(found)}`]
    )
  ]
}
