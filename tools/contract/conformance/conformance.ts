// Compares the running service with its OpenAPI document, by Schemathesis.
// Exits 1 when a response is not as documented, when Schemathesis warns that it
// cannot test something, or when the service logs an error. Takes a seed, or
// makes one.
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startLiveService } from '../../live-service.ts'

/**
 * Milliseconds after which a hanging run is stopped. A run takes some minutes
 * on two free cores.
 */
const timeout = 1_200_000

const tool = path.resolve(import.meta.dirname, '..')
const seed = process.argv[2] ?? String(randomInt(2 ** 32))
console.log(
  `Repeat this run with: npm run conformance --prefix tools/contract -- ${seed}`
)

const folder = mkdtempSync(path.join(tmpdir(), 'petcat-conformance-'))
const service = await startLiveService()

/** Runs a program in a folder without files. */
function run(program: string, options: string[], env: NodeJS.ProcessEnv) {
  execFileSync(program, options, {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: 'inherit',
    timeout
  })
}

try {
  // Without pets and orders, most requests would get a 404.
  const seedProgram = path.resolve(tool, '../seed.ts')
  const loader = ['--import', import.meta.resolve('tsx')]
  run(process.execPath, [...loader, seedProgram], {
    DATABASE_URL: service.databaseUrl
  })

  const configuration = path.join(tool, 'conformance/schemathesis.toml')
  const openapi = new URL('/openapi.yaml', service.baseUrl).href
  const schemathesis = path.join(tool, '.venv/bin/schemathesis')
  const options = ['--config-file', configuration, 'run', openapi]
  run(schemathesis, [...options, '--checks', 'all', '--seed', seed], {
    BASE_URL: service.baseUrl,
    API_KEY: service.key
  })
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

const logged = await service.stop()
rmSync(folder, { recursive: true })
if (logged !== '') {
  console.error(`The service logged:\n${logged}`)
  process.exitCode = 1
}
