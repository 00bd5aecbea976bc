// Compares the running service with its OpenAPI document, with all checks of
// Schemathesis. Exits 1 when a response is not as documented, when the run
// proves too little, or when the service logs an error. Takes a seed, or makes
// one.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type LiveService, startLiveService } from '../../live-service.ts'

const minimumCases = 5000
const casesPerOperation = 1000

/**
 * Milliseconds after which a hanging run is stopped. A run takes some minutes
 * on two free cores.
 */
const timeout = 1_200_000

/** What is used of the JSON report. */
interface Report {
  complete: boolean
  operations: { total: number; tested: number }
  test_cases: { generated: number; without_checks: number }
  warnings: Record<string, unknown[]>
}

const tool = path.resolve(import.meta.dirname, '..')
const schemathesis = path.join(tool, '.venv/bin/schemathesis')
const configuration = path.join(tool, 'conformance/schemathesis.toml')
const seedProgram = path.resolve(tool, '../seed.ts')

/** Without pets and orders, most requests would get a 404. */
function fill(databaseUrl: string, cwd: string): void {
  const options = ['--import', import.meta.resolve('tsx'), seedProgram]
  execFileSync(process.execPath, options, {
    cwd,
    env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl },
    stdio: 'inherit'
  })
}

/** The options of a run, by name. */
function optionsOf(
  { baseUrl, key }: LiveService,
  seed: string,
  report: string
) {
  return {
    // The first server of the document is production.
    '--url': baseUrl,
    '--header': `Authorization: Bearer ${key}`,
    '--checks': 'all',
    '--phases': 'examples,coverage,fuzzing,stateful',
    '--max-examples': String(casesPerOperation),
    '--request-timeout': '10',
    // One worker and no memory of earlier runs: a seed gives the same cases in
    // the same order.
    '--seed': seed,
    '--workers': '1',
    '--generation-database': 'none',
    '--report': 'json',
    '--report-json-path': report
  }
}

/** Runs Schemathesis. Returns what is wrong. */
function runSchemathesis(service: LiveService, folder: string): string[] {
  const report = path.join(folder, 'report.json')
  const openapi = new URL('/openapi.yaml', service.baseUrl).href
  const options = Object.entries(optionsOf(service, seed, report)).flat()
  const { status, signal } = spawnSync(
    schemathesis,
    ['--config-file', configuration, 'run', openapi, ...options],
    { cwd: folder, stdio: 'inherit', timeout }
  )

  return status === 0
    ? shortcomings(report)
    : [`Schemathesis exited with ${status ?? signal}`]
}

/** Returns why a run without failures proves too little. */
function shortcomings(file: string): string[] {
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report
  const { complete, operations, test_cases, warnings } = report
  const cases = test_cases.generated - test_cases.without_checks

  const problems: string[] = []
  if (!complete) problems.push('the run is not complete')
  if (operations.tested < operations.total) {
    problems.push(
      `${operations.tested} of ${operations.total} operations were tested`
    )
  }
  if (cases < minimumCases)
    problems.push(`${cases} cases were checked, fewer than ${minimumCases}`)
  for (const [kind, messages] of Object.entries(warnings)) {
    if (messages.length > 0)
      problems.push(`${kind}: ${JSON.stringify(messages)}`)
  }

  return problems
}

const seed = process.argv[2] ?? String(randomInt(2 ** 32))
console.log(
  `Repeat this run with: npm run conformance --prefix tools/contract -- ${seed}`
)

const folder = mkdtempSync(path.join(tmpdir(), 'petcat-conformance-'))
const service = await startLiveService()
fill(service.databaseUrl, folder)
const problems = runSchemathesis(service, folder)
const logged = await service.stop()
if (logged !== '') problems.push(`the service logged:\n${logged}`)
rmSync(folder, { recursive: true })

for (const problem of problems) console.error(`Not conforming: ${problem}`)
if (problems.length > 0) process.exitCode = 1
