import { execFileSync, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { type Stats } from 'node:fs'

/**
 * User ids that systems leave to services which get one when they start.
 *
 * @see https://systemd.io/UIDS-GIDS/
 */
const firstUserId = 61_184
const endOfUserIds = 65_520

/** A user with a name, which initdb needs. */
const nobody = { uid: 65_534, gid: 65_534 }

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

const isRoot = () => process.getuid?.() === 0

/** In a container, the user may be a number that has no name. */
const hasName = (id = process.getuid?.()) =>
  spawnSync('id', ['-nu', String(id)]).status === 0

/**
 * What runs a program as the user of the server: PostgreSQL rejects root, and
 * initdb a user without a name.
 *
 * @param owner of the data; none before initdb
 */
export function asServerUser(owner: Stats | undefined): string[] {
  if (!isRoot()) {
    const needsName = owner === undefined && !hasName()
    return needsName ? ['unshare', '--user', '--map-user=nobody'] : []
  }

  const { uid, gid } = owner ?? nobody
  // Other processes of a used id could use the server's capability.
  const isUnused = !owner || (uid >= firstUserId && uid < endOfUserIds)
  return [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    ...(isUnused ? entersAnyFolder : ['--inh-caps=-all'])
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
