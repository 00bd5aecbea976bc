// Runs the commands of README.md without Docker, with the node_modules of this
// clone: npm run readme --prefix tools/deploy-check. Needs curl.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { apiKeyPrefix } from '../../generated/names.ts'
import { createDatabase } from '../../test/support/database.ts'
import { documentedCommands } from '../../test/support/documented-commands.ts'
import { status } from '../../test/support/installation.ts'
import { freePort } from '../../test/support/postgres.ts'
import { keyPattern, run, started } from '../../test/support/process.ts'
import { copyFiles } from '../copy-files.ts'

const block = (heading: string, index: number) =>
  documentedCommands(['README.md'], heading, index)

/** Runs commands in the clone. */
const shell = (t: Test, commands: string, env = {}) =>
  run(t, ['bash', '-euc', commands], { env })

/** Runs commands to their end. Returns what they printed. */
async function outputOf(t: Test, commands: string, env = {}): Promise<string> {
  const { exited, output } = shell(t, commands, env)
  t.equal(await exited, 0)
  return output()
}

t.test('the quick start prints what it says', async (t) => {
  const port = await freePort()
  const start = block('Quick start', 0).replace('npm ci && ', '')
  const environment = { DATA_DIR: t.testdir(), PORT: String(port) }
  const service = shell(t, start, environment)
  await started(service)
  const [curl] = await service.sees(/curl \S+ -H '.+'/)
  const [key] = await service.sees(keyPattern)
  t.match(await outputOf(t, curl), /\[\]$/)

  const commands = block('Quick start', 1)
  const shown = [...commands.matchAll(/^# (.+)$/gm)].map(([, line]) => line)
  t.equal(shown.length, 2)
  const here = commands
    .replaceAll(':3000', `:${port}`)
    .replaceAll(`${apiKeyPrefix}…`, key)
  const output = await outputOf(t, here)
  for (const line of shown) t.match(output, String(line))

  const seeded = await outputOf(t, 'npm run seed', environment)
  t.match(seeded, 'Added 4 categories')
  // Otherwise, PostgreSQL would write to the folder while it is removed.
  await service.stop()
})

t.test('the service starts on a PostgreSQL of your own', async (t) => {
  const port = await freePort()
  const documented = 'postgres://user:password@host:5432/database'
  const url = await createDatabase(t, "TEMPLATE template0 ENCODING 'UTF8'")
  const commands = block('For operators', 1).replace(documented, `'${url}'`)
  const service = shell(t, commands, { PORT: String(port) })
  const address = await started(service)
  const [key] = await service.sees(keyPattern)
  const headers = { authorization: `Bearer ${key}` }
  t.equal(await status(`${address}/v1/categories`, headers), 200)
})

t.test('no program gets a secret of deploy/ as an argument', (t) => {
  const folder = copyFiles()
  const programs = path.join(folder, 'programs')
  mkdirSync(programs)
  // Each writes its arguments first. psql prints what it would run.
  for (const name of ['cat', 'grep', 'mv', 'psql', 'sed', 'sha256sum']) {
    const program = name === 'psql' ? 'cat' : `${name} "$@"`
    const content = `#!/bin/sh
      echo "$0 $*" >>'${folder}/arguments'
      exec /usr/bin/${program}`
    writeFileSync(path.join(programs, name), content, { mode: 0o755 })
  }
  const script = (command: string) =>
    execFileSync('sh', ['-euc', command], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: `${programs}:${process.env['PATH']}`, SECRETS: 'secrets' }
    })
  script('deploy/secrets; deploy/secrets database_url')
  t.match(script('deploy/roles.sh'), /\\set service '[0-9a-f]{48}'/)
  const given = readFileSync(path.join(folder, 'arguments'), 'utf8')
  t.match(given, /programs\/psql /)
  t.notMatch(given, /[0-9a-f]{40}/)
  t.end()
})
