import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { dataFolderIn } from './data-folder.ts'
import { programEnvironment, reasonIn } from './programs.ts'

const endWithParent = fileURLToPath(
  new URL('end-with-parent.sh', import.meta.url)
)

/**
 * Sockets are in /tmp, because the path of a socket may have only 103 bytes,
 * for which DATA_DIR or TMPDIR may leave no room.
 */
const socketFolderPrefix = '/tmp/embedded-postgres-'

/** Characters of the server's last output, kept to explain a failure. */
const maxOutput = 4000

/** Milliseconds between two looks at a server that starts. */
const startIntervalMs = 20

/** Milliseconds to start: after a crash, the server recovers first. */
const startTimeoutMs = 300_000

/** Milliseconds to connect to a server. */
const connectTimeoutMs = 2000

/** A running server. */
export interface EmbeddedServer {
  url: string
  /** Shuts the server down, or leaves it to the process that started it. */
  stop: () => Promise<void>
  /** Resolves with the reason when the server ends by itself. */
  crash?: Promise<Error>
}

/**
 * Starts the server, which ends with this process.
 *
 * @param postgres the command that runs it on its data
 * @param data their folder, whose owner runs the server
 * @throws Error with PostgreSQL's reason when the server ends, or accepts no
 *   connections in time
 */
export async function startServer(
  postgres: string[],
  data: string
): Promise<EmbeddedServer> {
  const socketFolder = mkdtempSync(socketFolderPrefix)
  // Only root needs this, and only root can do it.
  spawnSync('chown', [String(statSync(data).uid), socketFolder])
  const shell = spawnWatchdog(postgres, socketFolder)
  let output = ''
  shell.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-maxOutput)
  })
  const ended = once(shell, 'close').then(() => true)

  let isStopping = false
  const stop = async () => {
    isStopping = true
    shell.stdin.end()
    await ended
  }

  const url = urlOf(socketFolder)
  const timeout = sleep(startTimeoutMs, true, { ref: false })
  while (!(await accepts(url))) {
    const interval = sleep(startIntervalMs, false)
    if (await Promise.race([ended, timeout, interval])) {
      const reason = reasonIn(`it accepts no connections\n${output}`)
      throw new Error(`PostgreSQL did not start: ${reason}`)
    }
  }
  // It may have rejected connections while it started.
  output = ''

  // Nothing is lost: the next start recovers, as after a power failure.
  const crash = ended.then(() =>
    // After stop(), this never settles.
    isStopping
      ? new Promise<never>(() => {})
      : new Error(
          `the embedded PostgreSQL has ended (${reasonIn(output)}): start again`
        )
  )

  return { url, stop, crash }
}

function spawnWatchdog(postgres: string[], socketFolder: string) {
  const settings = [
    `--unix_socket_directories=${socketFolder}`,
    '--listen_addresses=',
    '--log_min_messages=fatal'
  ]
  const args = [endWithParent, socketFolder, ...postgres, ...settings]

  // A separate process group, which Ctrl-C does not reach.
  return spawn('sh', args, {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    env: programEnvironment
  })
}

/**
 * Finds the server that another process runs on the data in `directory`.
 *
 * @returns its URL, if it accepts connections
 */
export async function findServer(
  directory: string
): Promise<string | undefined> {
  const lockFile = path.join(dataFolderIn(directory), 'postmaster.pid')
  const lines = (await readFile(lockFile, 'utf8').catch(() => '')).split('\n')
  const socketFolder = lines.find((line) => line.startsWith(socketFolderPrefix))
  if (socketFolder === undefined) return undefined

  const url = urlOf(socketFolder)
  return (await accepts(url)) ? url : undefined
}

function urlOf(socketFolder: string): string {
  const url = new URL('postgres://postgres@localhost/postgres')
  url.searchParams.set('host', socketFolder)
  return url.href
}

/** Whether the server accepts connections. */
async function accepts(url: string): Promise<boolean> {
  const connection = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs
  })
  connection.on('error', () => {})

  return connection
    .connect()
    .then(() => true)
    .catch(() => false)
    .finally(() => connection.end())
}
