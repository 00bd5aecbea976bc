import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { dataFolderIn } from './data-folder.ts'
import { programEnvironment } from './programs.ts'
import { reasonIn } from './reasons.ts'

const watchdog = fileURLToPath(new URL('watchdog.sh', import.meta.url))

/** Characters of the server's output that are kept to explain a failure. */
const maxOutput = 4000

/** Milliseconds between two looks at a server that starts. */
const startIntervalMs = 20

/** Bytes of TMPDIR that leave room for the name of a socket. */
const maxSocketFolderLength = 60

/** Milliseconds to connect to a server. */
const connectTimeoutMs = 2000

/** The shell that runs watchdog.sh. */
type Shell = ChildProcessByStdio<Writable, null, Readable>

/** Which program starts or uses the server. */
export type Opener = 'service' | 'command' | 'migrate'

/** A running server. */
export interface Server {
  url: string
  /** Shuts the server down. */
  stop: () => Promise<void>
  /** Resolves with the reason when the server ends by itself. */
  crashed: Promise<Error>
}

/** The server of a running service. */
interface ServiceServer {
  url: string
  /** The process id of the service. */
  pid: number
}

/**
 * Starts the server, which ends with this process.
 *
 * @param postgres the command that runs it on its data
 * @throws Error with PostgreSQL's reason when the server ends
 */
export async function startServer(
  postgres: string[],
  opener: Opener
): Promise<Server> {
  const socketFolder = mkdtempSync(
    path.join(folderOfSockets(), socketFolderPrefix(opener))
  )
  const shell = spawnWatchdog(postgres, socketFolder)
  const output = lastOutputOf(shell)
  const ended = once(shell, 'close').then(() => true)
  // It rejects if there is no shell, maybe before the loop waits for it.
  ended.catch(() => {})

  let isStopping = false
  const stop = async () => {
    isStopping = true
    shell.stdin.end()
    await ended
  }

  for (;;) {
    const url = await urlOf(socketFolder)
    if (url !== undefined) {
      const crashed = new Promise<Error>((resolve) => {
        const onEnd = () => isStopping || resolve(crashOf(output()))
        ended.then(onEnd, onEnd)
      })
      return { url, stop, crashed }
    }

    const hasEnded = await Promise.race([ended, sleep(startIntervalMs, false)])
    if (hasEnded)
      throw new Error(`PostgreSQL did not start: ${reasonIn(output())}`)
  }
}

/** Nothing is lost: the next start recovers, as after a power failure. */
function crashOf(output: string): Error {
  const reason = reasonIn(output)
  return new Error(`the embedded PostgreSQL has ended (${reason}): start again`)
}

/** The path of a socket may have 103 bytes: a long TMPDIR is no use. */
function folderOfSockets(): string {
  const folder = tmpdir()
  return folder.length > maxSocketFolderLength ? '/tmp' : folder
}

function spawnWatchdog(postgres: string[], socketFolder: string): Shell {
  const settings = [
    `--unix_socket_directories=${socketFolder}`,
    '--listen_addresses=',
    '--log_min_messages=fatal'
  ]
  const args = [watchdog, socketFolder, ...postgres, ...settings]

  // A separate process group, which Ctrl-C does not reach.
  return spawn('sh', args, {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    env: programEnvironment
  })
}

/** Collects stderr. Returns a function that returns the end of it. */
function lastOutputOf(shell: Shell): () => string {
  let output = ''
  shell.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-maxOutput)
  })

  return () => output
}

/** The name of a socket's folder tells who started the server. */
const socketFolderPrefix = (opener: Opener): string =>
  `api-${opener}-${process.pid}-`

/** Matches the folder of a service's server, and the service's process id. */
const socketFolderOfService = /^.*api-service-(\d+)-\w+$/m

/** Finds the server that a running service has on the data in `directory`. */
export async function findService(
  directory: string
): Promise<ServiceServer | undefined> {
  const match = socketFolderOfService.exec(readLockFile(directory))
  if (match === null) return undefined

  const [socketFolder, service] = match
  const pid = Number(service)
  // A killed service leaves the lock file, and for a moment the server.
  const url = isRunning(pid) ? await urlOf(socketFolder) : undefined

  return url === undefined ? undefined : { url, pid }
}

/** PostgreSQL's lock file, which names the folder of the socket. */
function readLockFile(directory: string): string {
  const data = dataFolderIn(path.resolve(directory))
  try {
    return readFileSync(path.join(data, 'postmaster.pid'), 'utf8')
  } catch {
    // There is no data, or no server.
    return ''
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The URL of the server with this socket, if it accepts connections. */
async function urlOf(socketFolder: string): Promise<string | undefined> {
  const url = new URL('postgres://postgres@localhost/postgres')
  url.searchParams.set('host', socketFolder)

  const connection = new pg.Client({
    connectionString: url.href,
    connectionTimeoutMillis: connectTimeoutMs
  })
  connection.on('error', () => {})
  const isConnected = await connection.connect().then(
    () => true,
    () => false
  )
  await connection.end()

  return isConnected ? url.href : undefined
}
