// Runs the code samples in samples/, and the shell samples of docs/clients.md,
// against the service. Generates, compiles and runs each client, through a
// proxy that resets connections, and compares docs/clients.md with the result.
// Exits 1 when a sample or client fails or the guide differs. Takes the names
// of clients to run them alone, or with --samples the operationIds of samples.
import assert from 'node:assert/strict'
import { exec } from 'node:child_process'
import { cpSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startLiveService } from '../live-service.ts'
import { type Client, clients } from './clients.ts'
import { generators, runGuide } from './guide.ts'
import { type Exchange, type Fault, Proxy } from './proxy.ts'
import { runSamples } from './samples.ts'

const root = path.resolve(import.meta.dirname, '../..')
const sources = import.meta.dirname
const work = path.join(sources, '.work')

/** Rounded by a client that parses it as a double. */
const largeId = '9223372036854770001'

/** Milliseconds that a client waits for a Retry-After of a second, at least. */
const retryAfter = 999

/**
 * The output of each program, which creates a category with this id, calls the
 * other operations and is rejected twice.
 */
const transcript = (id: string) => `created ${id} Rabbit
listed ${id} Rabbit
queued Hello
rejected 400 invalid_request
rejected 401 unauthorized
`

/**
 * What happens to each request of a program: the create arrives five times, the
 * list once and the message twice.
 */
const faults: Fault[] = [
  'busy',
  'before',
  'after',
  'midway',
  'none',
  'none',
  'after'
]

const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
const guide = read('docs/clients.md')

const run = promisify(exec)
const service = await startLiveService()
const database = new pg.Client({ connectionString: service.databaseUrl })
await database.connect()
const proxy = new Proxy(service.baseUrl)
await proxy.listen()

const programs = [
  path.join(root, 'node_modules/.bin'),
  path.join(sources, 'node_modules/.bin'),
  path.join(sources, '.venv/bin')
]
const env = {
  ...process.env,
  PATH: [...programs, process.env['PATH']].join(path.delimiter),
  CARGO_TARGET_DIR: path.join(work, 'cargo'),
  BASE_URL: proxy.baseUrl,
  API_KEY: service.key
}

const clear = () =>
  database.query(`
    TRUNCATE categories, pets, orders, messages, idempotency_keys
    RESTART IDENTITY CASCADE
  `)

/**
 * Makes the data of tools/seed.ts and enough pets for a second page the only
 * data.
 */
async function restore(): Promise<void> {
  await clear()
  await run('node --import tsx tools/seed.ts', {
    cwd: root,
    env: { ...env, DATABASE_URL: service.databaseUrl }
  })
  await database.query(`
    INSERT INTO pets (name, category_id, status)
    SELECT 'Pet ' || n, 1, 'available'
    FROM generate_series(4, 30) AS n
  `)
}

/** Generates and compiles a client in a new folder. Returns the folder. */
async function generateClient(client: Client): Promise<string> {
  const { name, helper, generate, compile } = client
  const folder = path.join(work, name)
  rmSync(folder, { recursive: true, force: true })
  cpSync(path.join(sources, 'programs', name), folder, { recursive: true })
  cpSync(path.join(sources, 'retry', helper), path.join(folder, helper))
  cpSync(path.join(root, 'openapi.yaml'), path.join(folder, 'openapi.yaml'))
  await run(`(${generate} && ${compile}) >&2`, { cwd: folder, env })

  return folder
}

/** Throws unless the program waited before it sent the busy request again. */
function checkRetryAfter([busy, again]: Exchange[]): void {
  const waited = Number(again?.time) - Number(busy?.time)
  assert.ok(waited >= retryAfter, `it waited ${waited} ms, not Retry-After`)
}

/**
 * Generates a client and runs its program.
 *
 * @throws Error when it prints something else than the transcript, creates
 *   something twice, ignores Retry-After, or is not as the guide says
 */
async function tryClient(client: Client): Promise<void> {
  const folder = await generateClient(client)
  await clear()
  await database.query(
    `ALTER TABLE categories ALTER COLUMN id RESTART WITH ${largeId}`
  )
  proxy.reset(faults)

  const { stdout } = await run(client.run, { cwd: folder, env })
  const isExact = stdout.includes(largeId)
  assert.equal(stdout, transcript(isExact ? largeId : String(Number(largeId))))
  const { rowCount } = await database.query('SELECT FROM messages')
  assert.equal(rowCount, 1, 'messages')
  checkRetryAfter(proxy.exchanges)

  const int64 = isExact ? 'exact' : 'rounded beyond 2^53'
  console.log(`${client.name}: passes, int64 ${int64}`)
  const [row = ''] = guide.match(`\\| \\[${client.name}\\].*`) ?? []
  assert.ok(row.includes(`| ${int64} `), `docs/clients.md says ${row}`)
  const isGuided = guide.includes(client.generate)
  assert.ok(isGuided, `docs/clients.md does not say ${client.generate}`)
}

/** Throws unless the guide has the versions and the program that are tested. */
function checkGuide(): void {
  const program = read('tools/clients/programs/openapi-fetch/program.ts')
  // The imports, the client and a create.
  const start = program.split('\n\n').slice(0, 3).join('\n\n')
  assert.ok(guide.includes(start), `docs/clients.md does not show ${start}`)

  const pins = [
    'package.json',
    'tools/clients/package.json',
    'tools/clients/requirements.in',
    'tools/clients/programs/oapi-codegen/go.mod'
  ].map(read)
  const [section = ''] = generators.exec(guide) ?? []
  for (const [version] of section.matchAll(/\d+\.\d+\.\d+/g)) {
    const isPinned = pins.some((text) => text.includes(version))
    assert.ok(isPinned, `docs/clients.md has the version ${version}`)
  }
}

const options = process.argv.slice(2)
const chosen = options.filter((option) => !option.startsWith('--'))
const isSamplesOnly = options.includes('--samples')
const isWhole = chosen.length === 0 && !isSamplesOnly

const problems: string[] = []
const report = (name: string, error: unknown) => {
  const { message, stderr = '' } = error as Error & { stderr?: string }
  problems.push(`${name}: ${message}\n${stderr}`)
}

if (isWhole || isSamplesOnly) {
  const stage = { proxy, restore, env }
  const folder = path.join(work, 'samples')
  problems.push(...(await runSamples({ ...stage, folder }, chosen)))
}

if (isWhole) {
  const folder = path.join(work, 'guide')
  problems.push(...(await runGuide(guide, { proxy, restore, env, folder })))
  try {
    checkGuide()
  } catch (error) {
    report('docs/clients.md', error)
  }
}

for (const client of isSamplesOnly ? [] : clients) {
  if (!isWhole && !chosen.includes(client.name)) continue
  await tryClient(client).catch((error) => report(client.name, error))
}

await database.end()
proxy.stop()
await service.stop()

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
