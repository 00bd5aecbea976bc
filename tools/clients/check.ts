// Runs the code samples in samples/, and the shell samples of docs/clients.md,
// against the service. Generates, compiles and runs each client, through a
// proxy that resets connections, and compares docs/clients.md with the result.
// Exits 1 when a sample or client fails or the page is stale. With --write,
// writes the page. Takes the names of clients to run them alone, or with
// --samples the operationIds of samples.
import { exec } from 'node:child_process'
import {
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startLiveService } from '../live-service.ts'
import { type Client, clients } from './clients.ts'
import { runGuide } from './guide.ts'
import { pageWith, versionOf } from './page.ts'
import { type Exchange, type Fault, startProxy } from './proxy.ts'
import { runSamples } from './samples.ts'

const root = path.resolve(import.meta.dirname, '../..')
const sources = import.meta.dirname
const work = path.join(sources, '.work')
const page = 'docs/clients.md'
const openapi = path.join(root, 'openapi.yaml')

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

const run = promisify(exec)
const service = await startLiveService()
const database = new pg.Client({ connectionString: service.databaseUrl })
await database.connect()
const proxy = await startProxy(service.baseUrl)

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

/** Creates an API key that can do nothing else. */
async function createKey(scope: string): Promise<string> {
  const { stdout } = await run(
    `node --import tsx src/commands/keys.ts create --name sample --scope ${scope}`,
    { cwd: root, env: { ...env, DATABASE_URL: service.databaseUrl } }
  )

  return stdout.trim()
}

/** Returns a function that returns a key without any of these scopes. */
async function limitedKeys(): Promise<(scopes: string[]) => string> {
  const reader = await createKey('categories:read')
  const sender = await createKey('messages:write')
  return (scopes) => (scopes.includes('categories:read') ? sender : reader)
}

/** The file in retry/ that the program of a client uses, if it uses one. */
function helperOf({ retries }: Client): string | undefined {
  const file = path.join(sources, 'retry', retries)
  return existsSync(file) ? file : undefined
}

/** Generates and compiles a client in a new folder. Returns the folder. */
async function generateClient(client: Client): Promise<string> {
  const folder = path.join(work, client.name)
  rmSync(folder, { recursive: true, force: true })
  cpSync(path.join(sources, 'programs', client.name), folder, {
    recursive: true
  })
  const helper = helperOf(client)
  if (helper !== undefined) cpSync(helper, path.join(folder, client.retries))
  cpSync(openapi, path.join(folder, 'openapi.yaml'))

  const { generate, compile } = client
  await run(`(${generate} && ${compile}) >&2`, { cwd: folder, env })

  return folder
}

/** Throws unless the program waited before it sent the busy request again. */
function checkRetryAfter(exchanges: Exchange[]): void {
  const busy = exchanges.findIndex(({ fault }) => fault === 'busy')
  const [first, second] = exchanges.slice(busy)
  if (first === undefined || second === undefined)
    throw new Error('the program did not send the busy request again')

  const waited = second.time - first.time
  if (waited < retryAfter) {
    throw new Error(
      `the program waited for ${waited} ms, not for a Retry-After of a second`
    )
  }
}

/**
 * Runs the program of a generated client.
 *
 * @returns the id of the category, as the program printed it
 * @throws Error when it prints something else than the transcript, creates
 *   something twice or ignores Retry-After
 */
async function runProgram(client: Client, folder: string): Promise<string> {
  await clear()
  await database.query(
    `ALTER TABLE categories ALTER COLUMN id RESTART WITH ${largeId}`
  )
  // Only the files in retry/ retry within a body.
  const retriesBodies = helperOf(client) !== undefined
  proxy.reset(faults.filter((fault) => retriesBodies || fault !== 'midway'))

  const { stdout } = await run(client.run, { cwd: folder, env })
  const id = stdout.includes(largeId) ? largeId : String(Number(largeId))
  if (stdout !== transcript(id)) {
    throw new Error(
      `the program printed:\n${stdout}and not:\n${transcript(largeId)}`
    )
  }
  const { rowCount } = await database.query('SELECT FROM messages')
  if (rowCount !== 1) throw new Error(`the program queued ${rowCount} messages`)
  checkRetryAfter(proxy.exchanges)

  return id
}

/**
 * Generates and runs a client. Returns its row of the table in docs/clients.md.
 */
async function tryClient(client: Client): Promise<string> {
  const { name, language, retries, errors } = client
  const folder = await generateClient(client)
  const id = await runProgram(client, folder)
  const int64 = id === largeId ? 'exact' : 'rounded beyond 2^53'
  console.log(`${name}: passes, int64 ${int64}`)

  const hasHelper = helperOf(client) !== undefined
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

/** Writes the page, or reports that it is stale. */
async function updatePage(rows: string[], isWritten: boolean): Promise<void> {
  const file = path.join(root, page)
  const after = await pageWith(root, page, rows)
  if (isWritten) {
    writeFileSync(file, after)
  } else if (readFileSync(file, 'utf8') !== after) {
    console.error(
      `${page} is stale: run npm run write --prefix tools/clients and commit it`
    )
    process.exitCode = 1
  }
}

const options = process.argv.slice(2)
const chosen = options.filter((option) => !option.startsWith('--'))
const isSamplesOnly = options.includes('--samples')
const isWhole = chosen.length === 0 && !isSamplesOnly

const problems: string[] = []
if (isWhole || isSamplesOnly) {
  const folder = path.join(work, 'samples')
  const stage = { folder, proxy, restore, env, keyWithout: await limitedKeys() }
  problems.push(...(await runSamples(stage, chosen)))

  if (chosen.length === 0) {
    const guide = readFileSync(path.join(root, page), 'utf8')
    const guideFolder = path.join(work, 'guide')
    const guideStage = { ...stage, folder: guideFolder }
    problems.push(...(await runGuide(guide, guideStage)))
  }
}

const rows: string[] = []
for (const client of clients) {
  const isChosen = !isSamplesOnly && chosen.includes(client.name)
  if (!isWhole && !isChosen) continue
  try {
    rows.push(await tryClient(client))
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string }
    problems.push(`${client.name}: ${message}\n${stderr}`)
  }
}

await database.end()
proxy.stop()
await service.stop()

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
if (isWhole) await updatePage(rows, options.includes('--write'))
