// Compares the running service with its OpenAPI document, with all checks of Schemathesis. Exits 1 when a response is not as
// documented, when the run proves too little, or when the service logs an error. Takes a seed, or makes one.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLiveService } from '../../live-service.ts'

const minimumCases = 5000
const casesPerOperation = 1000
/** Milliseconds after which a hanging run is stopped. A run takes some minutes on two free cores. */
const timeout = 1_200_000

/** What is used of the JSON report. */
interface Report {
  complete: boolean
  operations: { total: number; tested: number }
  test_cases: { generated: number; without_checks: number }
  warnings: Record<string, unknown[]>
}

const schemathesis = fileURLToPath(
  new URL('../.venv/bin/schemathesis', import.meta.url)
)
const seed = process.argv[2] ?? String(randomInt(2 ** 32))
console.log(
  `Repeat this run with: npm run conformance --prefix tools/contract -- ${seed}`
)

const directory = mkdtempSync(path.join(tmpdir(), 'petcat-conformance-'))
const report = path.join(directory, 'report.json')
const service = await startLiveService()
// Without pets and orders, most requests would get a 404.
const filler = fileURLToPath(new URL('../../seed.ts', import.meta.url))
execFileSync(
  process.execPath,
  ['--import', import.meta.resolve('tsx'), filler],
  {
    cwd: directory,
    env: { PATH: process.env['PATH'], DATABASE_URL: service.databaseUrl },
    stdio: 'inherit'
  }
)
const { status, signal } = spawnSync(
  schemathesis,
  [
    ...[
      '--config-file',
      fileURLToPath(new URL('schemathesis.toml', import.meta.url))
    ],
    ...[
      'run',
      new URL('/openapi.yaml', service.baseUrl).href,
      '--header',
      `Authorization: Bearer ${service.key}`
    ],
    ...['--checks', 'all', '--phases', 'examples,coverage,fuzzing,stateful'],
    ...['--max-examples', String(casesPerOperation), '--request-timeout', '10'],
    // One worker and no memory of earlier runs: a seed gives the same cases in the same order.
    ...['--seed', seed, '--workers', '1', '--generation-database', 'none'],
    ...['--report', 'json', '--report-json-path', report]
  ],
  { cwd: directory, stdio: 'inherit', timeout }
)
const logged = await service.stop()
const problems =
  status === 0
    ? shortcomings(report)
    : [`Schemathesis exited with ${status ?? signal}`]
if (logged !== '') problems.push(`the service logged:\n${logged}`)
rmSync(directory, { recursive: true })

for (const problem of problems) console.error(`Not conforming: ${problem}`)
if (problems.length > 0) process.exitCode = 1

/** Returns why a run without failures proves too little. */
function shortcomings(file: string): string[] {
  const { complete, operations, test_cases, warnings } = JSON.parse(
    readFileSync(file, 'utf8')
  ) as Report
  const cases = test_cases.generated - test_cases.without_checks
  return [
    !complete && 'the run is not complete',
    operations.tested < operations.total &&
      `${operations.tested} of ${operations.total} operations were tested`,
    cases < minimumCases &&
      `${cases} cases were checked, fewer than ${minimumCases}`,
    ...Object.entries(warnings).map(
      ([kind, found]) => found.length > 0 && `${kind}: ${JSON.stringify(found)}`
    )
  ].filter((problem) => problem !== false)
}
