// What a new user may do wrong: the service, or a command, says so in one line
// that names the variable or the remedy.
import { cpSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import t, { type Test } from 'tap'
import {
  createDatabase,
  emptyDatabaseOptions,
  query,
  temporaryFolder
} from './support/database.ts'
import { listenOnLoopback } from './support/loopback.ts'
import { runToEnd, scriptArgv } from './support/process.ts'

const otherPort = String(await listenOnLoopback(t, createServer()))
const DATABASE_URL = await createDatabase(t)
const unmigrated = await createDatabase(t, emptyDatabaseOptions)
const unreleased = await createDatabase(t, emptyDatabaseOptions)
await query(unreleased, 'CREATE TABLE api_keys ()')
const noCertificate = 'postgres://user:secret@host/db?sslrootcert=/none/ca'

const service = 'src/main.ts'
const keys = 'src/commands/keys.ts'
const migrate = 'src/commands/migrate.ts'
const launcher = 'tools/start/main.ts'

/** What command lines say in an empty folder. */
const commandLines: [
  command: string,
  env: Record<string, string>,
  says: string | RegExp
][] = [
  [`${service} --port 4000`, {}, 'unknown argument --port: set variables'],
  [
    service,
    { DATABASE_URL, PORT: otherPort },
    `in use 127.0.0.1:${otherPort}: set HOST or PORT`
  ],
  [
    service,
    { DATABASE_URL, METRICS_PORT: otherPort },
    `in use 127.0.0.1:${otherPort}: set HOST or METRICS_PORT`
  ],
  [
    service,
    { DATABASE_URL: noCertificate },
    'DATABASE_URL cannot be used: ENOENT: no such file or directory, open'
  ],
  [service, { DATABASE_URL: unreleased, PORT: '0' }, 'start anew'],
  [`${keys} creat`, {}, 'use create --name'],
  [`${keys} create --name x --expires 90`, {}, 'a duration such as 30m'],
  [`${keys} create --name x --scope pets:fly`, {}, 'one of: categories:read'],
  [`${keys} revoke 1 2`, {}, 'revoke needs one ID'],
  [`${keys} list`, { DATABASE_URL: unmigrated }, 'not exist: run migrate'],
  [`${migrate} now`, { DATABASE_URL }, "argument 'now'"],
  [launcher, { PORT: 'x' }, 'PORT must be a port from'],
  [launcher, { DATA_DIR: '/dev/null/x' }, 'in DATA_DIR, /dev/null'],
  [launcher, { PATH: '/none' }, /cannot run: .*set DATABASE_URL$/]
]

/** The output without what is no mistake: the lines of the log below warnings. */
const reportIn = (output: string): string =>
  output
    .trimEnd()
    .split('\n')
    .filter((line) => !/^\{"level":[1-3]0,|^Using /.test(line))
    .join('\n')

t.test('each mistake on a command line is one line', async (t) => {
  const cwd = t.testdir()
  for (const [command, env, says] of commandLines) {
    const [file = '', ...args] = command.split(' ')
    const words = [...scriptArgv(file), ...args]
    const { code, output } = await runToEnd(t, words, { cwd, env })
    t.equal(code, 1, command)
    t.match(reportIn(output), says)
    t.notMatch(reportIn(output), /secret|\n/)
  }
})

/** Runs tools/run-typescript.js outside of our node_modules. */
async function runAlone(t: Test, neededNode: string) {
  const cwd = temporaryFolder(t)
  const engines = { node: `>=${neededNode}` }
  const packageJson = { name: 'pets', type: 'module', engines }
  writeFileSync(path.join(cwd, 'package.json'), JSON.stringify(packageJson))
  writeFileSync(path.join(cwd, 'main.ts'), "import 'pino'")
  cpSync('tools/run-typescript.js', path.join(cwd, 'tools/run-typescript.js'))
  return runToEnd(t, [process.execPath, 'tools/run-typescript.js', 'main.ts'], {
    cwd
  })
}

t.test('what an installation lacks is named', async (t) => {
  t.same(await runAlone(t, '20.19'), {
    code: 1,
    output: 'pets: packages are missing: run `npm ci`\n'
  })
  t.same(await runAlone(t, '99.10'), {
    code: 1,
    output: `pets: Node.js 99.10 or later is needed, not ${process.versions.node}\n`
  })
})
