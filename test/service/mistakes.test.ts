// What a new user may do wrong: the service, or a command, says so in one line
// that names the variable or the file, and the remedy. config.test.ts has the
// mistakes that reading the configuration finds, embedded/ those of DATA_DIR.
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createDatabase, temporaryFolder } from '../support/database.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { call, script } from '../support/process.ts'

const otherPort = await listenOnLoopback(t, createServer())
const DATABASE_URL = await createDatabase(t)
const latin1 = "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"
const unusable = 'the database, or DATABASE_URL, cannot be used: '

/** What command lines say in an empty folder. */
const commandLines: [
  command: string,
  env: Record<string, string>,
  says: string | RegExp
][] = [
  [
    'main.ts --port 4000',
    {},
    'unknown argument --port: set variables, as in PORT=4000 npm start'
  ],
  [
    'main.ts',
    { DATABASE_URL, PORT: String(otherPort) },
    `in use 127.0.0.1:${otherPort}: set HOST or PORT`
  ],
  ['commands/migrate.ts --chekc', {}, "Unknown option '--chekc'"],
  [
    'commands/migrate.ts --check',
    { DATABASE_URL, FIRST_API_KEY_FILE: import.meta.filename },
    /^FIRST_API_KEY_FILE must have an API key: \w+, 40 hex.* their SHA-256$/
  ],
  [
    'commands/migrate.ts',
    { DATABASE_URL: 'postgres://user:secret%ff@host/db' },
    `${unusable}URI malformed`
  ],
  [
    'commands/migrate.ts',
    { DATABASE_URL: `postgres://user:secret@127.0.0.1:${otherPort}/x` },
    `${unusable}Connection terminated unexpectedly`
  ],
  [
    'commands/migrate.ts',
    { DATABASE_URL, DATABASE_SERVICE_ROLE: 'nope' },
    `${unusable}grants.sql failed: role "nope" does not exist`
  ],
  [
    'commands/migrate.ts',
    { DATABASE_URL: await createDatabase(t, latin1) },
    "must be UTF8, not LATIN1: create one with ENCODING 'UTF8'"
  ]
]

/** The line of an output: all lines but those of the log below warnings. */
const reportIn = (output: string): string =>
  output
    .trimEnd()
    .split('\n')
    .filter((line) => !/^\{"level":[1-3]0,/.test(line))
    .join('\n')
    .replace(/^[\w-]+: /, '')

t.test('each mistake on a command line is one line', async (t) => {
  const cwd = t.testdir()
  const check = async ([command, env, says]: (typeof commandLines)[number]) => {
    const [file = '', ...args] = command.split(' ')
    const words = [...script(`src/${file}`), ...args]
    const { code, output } = await call(t, words, { cwd, env })
    t.equal(code, 1, command)
    t.match(reportIn(output), says)
    t.notMatch(reportIn(output), /secret|\n/)
  }
  await Promise.all(commandLines.map(check))
})

/** Runs a program by tools/run.js, outside of our node_modules. */
async function runAlone(t: Test, neededNode: string, program: string) {
  const cwd = temporaryFolder(t)
  const engines = { node: `>=${neededNode}` }
  const packageJson = { name: 'pets', type: 'module', engines }
  writeFileSync(path.join(cwd, 'package.json'), JSON.stringify(packageJson))
  writeFileSync(path.join(cwd, 'program.ts'), "import 'pg'")
  cpSync('tools/run.js', path.join(cwd, 'tools/run.js'))
  return call(t, ['node', 'tools/run.js', program], { cwd })
}

t.test('what an installation lacks is named', async (t) => {
  const { node } = process.versions
  t.match(await runAlone(t, '20.19', 'program.ts'), {
    code: 1,
    output: /^pets: packages are missing: run `npm ci`.*\n$/
  })
  t.same(await runAlone(t, '20.19', 'dist/main.js'), {
    code: 1,
    output: 'pets: dist/main.js is missing: run `npm run build`\n'
  })
  t.same(await runAlone(t, '99.10', 'program.ts'), {
    code: 1,
    output: `pets: Node.js 99.10 or later is needed, not ${node}\n`
  })
})

t.test('Git for Windows leaves line ends as they are', (t) => {
  const cwd = t.testdir()
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'core.autocrlf=true', ...args], { cwd })
  const files = [
    '.gitattributes',
    'src/framework/embedded/end-with-parent.sh',
    'deploy/errors/400.http'
  ]
  git('init', '-q')
  for (const file of files) cpSync(file, path.join(cwd, file))
  git('add', '.')
  git('checkout-index', '--all', '--prefix=clone/')

  for (const file of files) {
    const checkedOut = readFileSync(path.join(cwd, 'clone', file), 'utf8')
    t.equal(checkedOut, readFileSync(file, 'utf8'), file)
  }
  t.end()
})
