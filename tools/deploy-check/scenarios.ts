// What holds with Docker Compose and on Kubernetes.
import type { Test } from 'tap'
import { lastLine } from '../../test/support/installation.ts'
import { eventually, type Installation } from './installation.ts'
import { databaseOutage } from './under-load.ts'

/**
 * Checks that a container of the service is not root, has no capabilities, and
 * cannot write to its file system.
 *
 * @param exec runs a command in the container, and returns its output
 * @param user the id of the user that it must have
 */
export async function isConfined(
  t: Test,
  exec: (command: string) => Promise<string>,
  user: string
): Promise<void> {
  t.equal(await exec('id -u'), user)
  await t.rejects(exec('touch /app/x'), /Read-only file system/)
  const status = await exec('cat /proc/1/status')
  t.match(status, /CapBnd:\t0+\n(.*\n)*NoNewPrivs:\t1/)
}

/** What the commands of incidents print that change nothing. */
const findings: [incident: string, block: number, finding: RegExp][] = [
  ['database down', 1, /uptime.*standby/],
  ['disk full', 0, /pg_size_pretty[^]*slot_name/],
  ['disk full', 1, /DELETE 0\nVACUUM/],
  ['disk full', 2, /"createCategory","status":201/],
  ['crash loop', 0, /^200$/],
  ['key expires', 0, /valid/],
  ['database slow', 2, /n_dead_tup/],
  ['pool exhausted', 0, /pet-categories[^]*max_connections/],
  ['overload', 0, /createCategory/],
  ['flood', 0, /"key":"1"[^]*"ip":/],
  ['migration pending', 0, /pet_shop/],
  ['messages not consumed', 0, /oldest[^]*client_addr/],
  ['clock skew', 0, /\d{10}\.\d+[^]*\d{10}\.\d+/]
]

/** Runs the commands of incidents that change nothing. */
export async function incidentsAreFound(
  t: Test,
  { incident }: Installation
): Promise<void> {
  for (const [name, block, finding] of findings)
    t.match(await incident(name, block), finding, name)
}

/** Locks a table under load, then finds the lock and ends it. */
export async function lockIsReleased(
  t: Test,
  { incident, sql, underLoad }: Installation
): Promise<void> {
  const release = async () => {
    const locked = sql('BEGIN; LOCK TABLE categories; SELECT pg_sleep(600)')
    // Fails when its connection is ended.
    const ended = t.rejects(locked, /terminating connection/)
    const blocker = /^ +(\d+) \| psql/m
    let PID = ''
    const isFound = async () => {
      PID = blocker.exec(await incident('database slow'))?.[1] ?? ''
      return PID !== ''
    }
    await eventually(isFound, 'the lock is found')
    await incident('database slow', 1, { PID })
    await ended
  }
  // Some creates may wait for longer than DATABASE_TIMEOUT_MS.
  await underLoad(t, release, databaseOutage)
}

/**
 * Rotates and revokes the first key of the installation, then finds a leaked
 * key by its beginning and replaces it.
 */
export async function keysAreReplaced(
  t: Test,
  { documented, incident, newKey, serves }: Installation
): Promise<void> {
  const ends = (key: string) =>
    eventually(async () => !(await serves(key)), 'the key has ended')
  /** The id of a key, by its beginning. */
  const idOf = async (KEY: string) => {
    const listed = await incident('key leaked', 3, { KEY, ID: '' })
    return /'(\d+)'/.exec(listed)?.[1] ?? ''
  }

  const rotated = lastLine(await documented('Keys', 0, { ID: '1' }))
  t.ok(await serves(rotated))
  await documented('Keys', 1, { ID: await idOf(rotated.slice(0, 15)) })
  await ends(rotated)

  const leaked = await newKey()
  const KEY = leaked.slice(0, 15)
  t.ok(await serves(leaked))
  t.match(await incident('key leaked', 0, { KEY }), '"ip":')
  const ID = await idOf(KEY)
  const successor = lastLine(await incident('key leaked', 1, { ID }))
  await ends(leaked)
  t.ok(await serves(successor))
  const verified = await incident('key leaked', 3, { KEY, ID })
  t.match(verified, /expired[^]*"status":401/)
  await incident('key leaked', 2, { ID: successor.slice(0, 15) })
  await ends(successor)
}
