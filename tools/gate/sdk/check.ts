// Generates each client from openapi.yaml, compiles it, runs its program against the service, and compares docs/clients.md
// with the result. Exits 1 when a client fails or the page is stale. With --write, writes the page.
import { execSync } from 'node:child_process'
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
const bins = ['node_modules/.bin', 'tools/gate/node_modules/.bin', 'tools/gate/.venv/bin'].map((bin) =>
  path.join(root, bin)
)

/** The output of each program, which creates a category with this id, calls the other operations and is rejected twice. */
const transcript = (id: string) => `created ${id} Rabbit
listed ${id} Rabbit
queued Hello
rejected 400 invalid_request
rejected 401 unauthorized
`

/**
 * Generates the client in a new folder, compiles it and runs its program. Returns a row of the table in docs/clients.md and the
 * commands to generate the same client.
 *
 * @throws Error when a step fails or the program prints something else than the transcript
 */
async function tryClient(client: Client, service: LiveService) {
  const { name, language, pin, install, generate, compile, errors } = client
  const cwd = path.join(root, 'tools/gate/.sdk', name)
  const PATH = [...bins, process.env['PATH']].join(path.delimiter)
  const env = { ...process.env, PATH, BASE_URL: service.baseUrl, API_KEY: service.key }
  rmSync(cwd, { recursive: true, force: true })
  cpSync(path.join(root, 'tools/gate/sdk', name), cwd, { recursive: true })
  cpSync(path.join(root, 'openapi.yaml'), path.join(cwd, 'openapi.yaml'))
  execSync(`(${generate} && ${compile}) >&2`, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })

  const database = new pg.Client({ connectionString: service.databaseUrl })
  await database.connect()
  // The list is empty, and the next category has the largest id.
  await database
    .query(`TRUNCATE categories CASCADE; ALTER TABLE categories ALTER COLUMN id RESTART WITH ${largestId}`)
    .finally(() => database.end())
  const printed = execSync(client.run, { cwd, env, encoding: 'utf8', stdio: 'pipe' })
  const id = printed.includes(largestId) ? largestId : String(Number(largestId))
  if (printed !== transcript(id)) throw new Error(`the program printed:\n${printed}and not:\n${transcript(largestId)}`)

  const version = pin[1].exec(readFileSync(path.join(root, pin[0]), 'utf8'))?.[1]
  const int64 = id === largestId ? 'exact' : 'rounded beyond 2^53'
  console.log(`${name}: passes, int64 ${int64}`)
  const row = `| [${name}](../tools/gate/sdk/${name}) | ${language} | passes \`${compile}\`, runs | ${int64} | ${errors} |\n`
  const prefix = language === 'TypeScript' ? 'npx ' : ''
  return { row, commands: `# ${name}\n${install.replace('VERSION', String(version))}\n${prefix}${generate}\n` }
}

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\`\`\`\n`

const service = await startLiveService()
const passed: Awaited<ReturnType<typeof tryClient>>[] = []
for (const client of clients) {
  const result = await tryClient(client, service).catch((error: Error) =>
    console.error(`${client.name}: ${error.message}`)
  )
  if (result) passed.push(result)
}
await service.stop()
if (passed.length < clients.length) process.exit(1)

const before = readFileSync(page, 'utf8')
const table = `| client | language | verdict | int64 | errors |\n| - | - | - | - | - |\n${passed.map(({ row }) => row).join('')}`
const install = fence('sh', passed.map(({ commands }) => commands).join('\n'))
const program = fence('ts', readFileSync(path.join(root, 'tools/gate/sdk/openapi-fetch/program.ts'), 'utf8'))
const made = `<!-- sdk:check -->\n\n${table}\n${install}\nWith openapi-fetch:\n\n${program}\n<!-- end of sdk:check -->`
const text = before.replace(/<!-- sdk:check -->[^]*<!-- end of sdk:check -->/, () => made)
const after = await format(text, { ...(await resolveConfig(page)), parser: 'markdown' })
if (process.argv.includes('--write')) writeFileSync(page, after)
else if (before !== after) {
  console.error('docs/clients.md is stale: run npm run sdk:check -- --write and commit it')
  process.exitCode = 1
}
