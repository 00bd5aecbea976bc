// Generates each client from openapi.yaml, compiles it, runs its program against the service, and compares docs/clients.md
// with what came out; exits 1 when a client fails or the page is stale. With --write it writes the page.
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { format, resolveConfig } from 'prettier'
import { type LiveService, startLiveService } from '../live-service.ts'
import { type Client, clients } from './clients.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const page = path.join(root, 'docs/clients.md')
const largestId = '9223372036854775807'

/** What a program prints that calls each operation and is rejected twice, if its category gets this id. */
const transcript = (id: string) => `created ${id} Rabbit
listed ${id} Rabbit
queued Hello
rejected 400 invalid_request
rejected 401 unauthorized
`

/** Empties the list; the next category will have the largest id that there is. */
async function prepareDatabase(url: string): Promise<void> {
  const database = new pg.Client({ connectionString: url })
  await database.connect()
  await database
    .query(`TRUNCATE categories; ALTER TABLE categories ALTER COLUMN id RESTART WITH ${largestId}`)
    .finally(() => database.end())
}

/** Runs a command of the tools in node_modules/ and gate/, and gives what it prints. */
function run(command: string, directory: string, variables: Record<string, string> = {}): string {
  const tools = ['node_modules/.bin', 'tools/gate/node_modules/.bin', 'tools/gate/.venv/bin'].map((bin) =>
    path.join(root, bin)
  )
  const PATH = [...tools, process.env['PATH']].join(path.delimiter)
  const { status, stdout, stderr } = spawnSync(command, {
    cwd: directory,
    shell: true,
    encoding: 'utf8',
    env: { ...process.env, PATH, ...variables }
  })
  if (status !== 0) throw new Error(`${command} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}

/**
 * Makes the client in a fresh folder, compiles it and runs its program. Gives how it reads the largest id.
 *
 * @throws Error when a step fails or the program prints something else than the transcript
 */
async function tryClient(client: Client, service: LiveService): Promise<string> {
  const directory = path.join(root, 'tools/gate/.sdk', client.name)
  rmSync(directory, { recursive: true, force: true })
  cpSync(path.join(root, 'tools/gate/sdk', client.name), directory, { recursive: true })
  cpSync(path.join(root, 'openapi.yaml'), path.join(directory, 'openapi.yaml'))
  run(client.generate, directory)
  run(client.compile, directory)
  await prepareDatabase(service.databaseUrl)
  const printed = run(client.run, directory, { BASE_URL: service.baseUrl, API_KEY: service.key })
  if (printed === transcript(largestId)) return 'exact'
  if (printed === transcript(String(Number(largestId)))) return 'rounded beyond 2^53'
  throw new Error(`the program printed:\n${printed}and not:\n${transcript(largestId)}`)
}

function versionOf({ name, pin: [file, pattern] }: Client): string {
  const version = pattern.exec(readFileSync(path.join(root, file), 'utf8'))?.[1]
  if (version === undefined) throw new Error(`${file} does not pin ${name}`)
  return version
}

function row({ name, language, compile, errors }: Client, int64: string): string {
  return `| [${name}](../tools/gate/sdk/${name}) | ${language} | passes \`${compile}\`, runs | ${int64} | ${errors} |\n`
}

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\`\`\`\n`

/** How to install a generator and to run it. */
function commands(client: Client): string {
  const { name, language, install, generate } = client
  const prefix = language === 'TypeScript' ? 'npx ' : ''
  return `# ${name}\n${install.replace('VERSION', versionOf(client))}\n${prefix}${generate}\n`
}

/** The page with a new part between the markers: the results, the commands, and one program. */
async function render(rows: string[]): Promise<string> {
  const table = `| client | language | verdict | int64 | errors |\n| - | - | - | - | - |\n${rows.join('')}`
  const program = readFileSync(path.join(root, 'tools/gate/sdk/openapi-fetch/program.ts'), 'utf8')
  const parts = [table, fence('sh', clients.map(commands).join('\n')), 'With openapi-fetch:\n', fence('ts', program)]
  const made = `<!-- sdk:check -->\n\n${parts.join('\n')}\n<!-- end of sdk:check -->`
  const text = readFileSync(page, 'utf8').replace(/<!-- sdk:check -->[^]*<!-- end of sdk:check -->/, () => made)
  return format(text, { ...(await resolveConfig(page)), parser: 'markdown' })
}

const service = await startLiveService()
const rows: string[] = []
try {
  for (const client of clients) {
    try {
      const int64 = await tryClient(client, service)
      rows.push(row(client, int64))
      console.log(`${client.name}: passes, int64 ${int64}`)
    } catch (error) {
      console.error(`${client.name}: ${(error as Error).message}`)
    }
  }
} finally {
  await service.stop()
}
if (rows.length < clients.length) process.exit(1)

const text = await render(rows)
if (process.argv.includes('--write')) writeFileSync(page, text)
else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/clients.md is stale: run npm run sdk:check -- --write and commit it')
  process.exitCode = 1
}
