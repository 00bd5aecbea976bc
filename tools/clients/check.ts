// Runs the code samples of openapi.yaml against the service. Generates, compiles and runs each client, through a proxy that
// resets connections, and compares docs/clients.md with the result. Exits 1 when a sample or client fails or the page is stale.
// With --write, writes the page. Takes the names of clients to run them alone.
import { exec } from 'node:child_process'
import {
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { startLiveService } from '../live-service.ts'
import { type Client, clients } from './clients.ts'
import { pageWith, versionOf } from './page.ts'
import { type Fault, startProxy } from './proxy.ts'
import { runSamples } from './samples.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = path.join(root, 'tools/clients')
const work = path.join(root, 'tools/clients/.work')
const page = 'docs/clients.md'
const openapi = path.join(root, 'openapi.yaml')
/** Rounded by a client that parses it as a double. */
const largeId = '9223372036854770001'
const bins = [
  'node_modules/.bin',
  'tools/clients/node_modules/.bin',
  'tools/clients/.venv/bin'
].map((bin) => path.join(root, bin))
const run = promisify(exec)

/** The output of each program, which creates a category with this id, calls the other operations and is rejected twice. */
const transcript = (id: string) => `created ${id} Rabbit
listed ${id} Rabbit
queued Hello
rejected 400 invalid_request
rejected 401 unauthorized
`

/** What happens to each request of a program: the create arrives five times, the list once and the message twice. */
const faults: Fault[] = [
  'busy',
  'before',
  'after',
  'midway',
  'none',
  'none',
  'after'
]

const service = await startLiveService()
const database = new pg.Client({ connectionString: service.databaseUrl })
await database.connect()
const proxy = await startProxy(service.baseUrl)
const env = {
  ...process.env,
  PATH: [...bins, process.env['PATH']].join(path.delimiter),
  CARGO_TARGET_DIR: path.join(work, 'cargo'),
  BASE_URL: proxy.baseUrl,
  API_KEY: service.key
}

const clear = () =>
  database.query(
    'TRUNCATE categories, pets, orders, messages, idempotency_keys RESTART IDENTITY CASCADE'
  )

/** Makes the data of tools/seed.ts and enough pets for a second page the only data. */
async function restore() {
  await clear()
  await run('node --import tsx tools/seed.ts', {
    cwd: root,
    env: { ...env, DATABASE_URL: service.databaseUrl }
  })
  const pets =
    "INSERT INTO pets (name, category_id, status) SELECT 'Pet ' || n, 1, 'available' FROM generate_series(4, 30) n"
  await database.query(pets)
}

/**
 * Generates the client in a new folder, compiles it and runs its program. Returns a row of the table in docs/clients.md.
 *
 * @throws Error when a step fails, or when the program prints something else than the transcript, creates something twice or
 * ignores Retry-After
 */
async function tryClient(client: Client) {
  const { name, language, retries, generate, compile, errors } = client
  const cwd = path.join(work, name)
  rmSync(cwd, { recursive: true, force: true })
  cpSync(path.join(sources, 'programs', name), cwd, { recursive: true })
  const helper = path.join(sources, 'retry', retries)
  const hasHelper = existsSync(helper)
  if (hasHelper) cpSync(helper, path.join(cwd, retries))
  cpSync(openapi, path.join(cwd, 'openapi.yaml'))
  await run(`(${generate} && ${compile}) >&2`, { cwd, env })

  await clear()
  await database.query(
    `ALTER TABLE categories ALTER COLUMN id RESTART WITH ${largeId}`
  )
  proxy.reset(faults.filter((fault) => hasHelper || fault !== 'midway'))
  const { stdout } = await run(client.run, { cwd, env })
  const id = stdout.includes(largeId) ? largeId : String(Number(largeId))
  if (stdout !== transcript(id))
    throw new Error(
      `the program printed:\n${stdout}and not:\n${transcript(largeId)}`
    )
  const { rowCount } = await database.query('SELECT FROM messages')
  if (rowCount !== 1) throw new Error(`the program queued ${rowCount} messages`)
  const exchanges = proxy.exchanges()
  const busy = exchanges.findIndex(({ fault }) => fault === 'busy')
  const waited = exchanges[busy + 1]!.time - exchanges[busy]!.time
  if (waited < 999)
    throw new Error(
      `the program waited for ${waited} ms, not for a Retry-After of a second`
    )

  const int64 = id === largeId ? 'exact' : 'rounded beyond 2^53'
  console.log(`${name}: passes, int64 ${int64}`)
  const cells = [
    `[${name}](../tools/clients/programs/${name})`,
    language,
    versionOf(root, client),
    int64,
    errors,
    hasHelper ? `[${retries}](../tools/clients/retry/${retries})` : retries
  ]
  return `| ${cells.join(' | ')} |`
}

const chosen = process.argv
  .slice(2)
  .filter((argument) => !argument.startsWith('--'))
const problems =
  chosen.length > 0
    ? []
    : await runSamples(
        readFileSync(openapi, 'utf8'),
        path.join(work, 'samples'),
        { proxy, restore, env }
      )
const rows: string[] = []
for (const client of clients) {
  if (chosen.length > 0 && !chosen.includes(client.name)) continue
  await tryClient(client).then(
    (row) => rows.push(row),
    (error: Error & { stderr?: string }) =>
      problems.push(`${client.name}: ${error.message}\n${error.stderr ?? ''}`)
  )
}
await database.end()
proxy.stop()
await service.stop()

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
if (chosen.length === 0) {
  const file = path.join(root, page)
  const after = await pageWith(root, page, rows)
  if (process.argv.includes('--write')) writeFileSync(file, after)
  else if (readFileSync(file, 'utf8') !== after) {
    console.error(
      `${page} is stale: run npm run write --prefix tools/clients and commit it`
    )
    process.exitCode = 1
  }
}
