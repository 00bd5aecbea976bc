import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync
} from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { messageOf } from '../../src/errors.ts'
import { commandOf, postgresEnvironment, reasonIn } from './programs.ts'
import { giveToUnusedUser } from './server-user.ts'

const run = promisify(execFile)

const initdbOptions = [
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--no-instructions',
  // Containers often have a small /dev/shm.
  '--set=dynamic_shared_memory_type=mmap'
]

/**
 * Runs a server that ends with this process, even by SIGKILL: stdin is a pipe
 * that closes then. In sh, the stdin of a background job is /dev/null, so the
 * pipe is passed on as fd 3. Such a job also ignores SIGINT until PostgreSQL
 * handles it, so it may need a second one.
 */
const runServer = `
  socket_folder=$1
  shift
  exec 3<&0
  "$@" &
  server=$!
  { read -r _ <&3; while kill -INT $server; do sleep 1; done; } 2>/dev/null &
  reader=$!
  wait $server
  kill $reader
  rm -rf "$socket_folder"
`

/**
 * Sockets are in /tmp, because the path of one may have only 103 bytes, for which
 * DATA_DIR may leave no room. What follows is the PID of the process that starts
 * the server.
 */
const socketPrefix = '/tmp/pet-categories-'

/** Characters of the server's last output, which explain a failure. */
const maxOutput = 4000

/** PostgreSQL's words when it has started. */
const readyMessage = 'ready to accept connections'

/** PostgreSQL's words while another server uses the data. */
const inUsePattern =
  /lock file "postmaster\.pid" (already|is empty)|still in use/

/** Milliseconds to wait for a server that another process runs. */
const maxWaitMs = 1000
/** Milliseconds to wait for one that starts or stops. */
const maxTransitionMs = 20_000
const intervalMs = 100

/** A running server. */
export interface PostgresServer {
  /** Its owner is the user postgres, without a password. */
  url: string
  /** Shuts the server down, if this process has started it. */
  stop: () => Promise<void>
  /** Rejects with the reason when the server ends by itself. */
  unexpectedExit?: Promise<void>
}

/**
 * Starts PostgreSQL on the data in a folder, which are created if they do not
 * exist. The server ends with this process, and loses no acknowledged commit.
 *
 * @param directory DATA_DIR
 * @param mayShare whether the server of another process will do, as for a
 *   command while the service runs
 * @throws Error of one line when PostgreSQL cannot run here
 */
export async function startEmbeddedPostgres(
  directory: string,
  mayShare = false
): Promise<PostgresServer> {
  // node-postgres completes a URL by libpq's variables, which lead to the
  // developer's server.
  for (const name of Object.keys(process.env))
    if (name.startsWith('PG')) delete process.env[name]

  try {
    return await shareOrStart(directory, mayShare)
  } catch (cause) {
    const reason = reasonIn(messageOf(cause))
    throw new Error(
      `the embedded PostgreSQL in DATA_DIR, ${directory}, cannot run: ${reason}`,
      { cause }
    )
  }
}

async function shareOrStart(
  directory: string,
  mayShare: boolean
): Promise<PostgresServer> {
  const data = path.join(directory, 'postgres')
  const begun = performance.now()
  for (;;) {
    try {
      await prepareData(directory, data)
      return await startServer(data)
    } catch (error) {
      if (!inUsePattern.test(messageOf(error))) throw error
    }

    const waited = performance.now() - begun
    const { pid, socketFolder, isReady } = readLockFile(data)
    if (isRecycled(pid) || waited > maxTransitionMs) {
      throw new Error(
        `${data}/postmaster.pid has the PID '${pid}': ` +
          'stop it if it is a PostgreSQL, or else delete that file'
      )
    }
    if (isReady) {
      if (mayShare)
        return { url: urlOf(socketFolder), stop: () => Promise.resolve() }
      const service = parseInt(socketFolder.slice(socketPrefix.length))
      if (waited > maxWaitMs) {
        throw new Error(
          `another service (PID ${service}) uses this folder: ` +
            'stop it, or set DATA_DIR'
        )
      }
    }
    await sleep(intervalMs)
  }
}

/** Creates the data, unless they exist. */
async function prepareData(directory: string, data: string): Promise<void> {
  mkdirSync(directory, { recursive: true })
  if (!existsSync(data)) await createData(directory, data)
  // Root has copied them.
  if (statSync(data).uid === 0) giveToUnusedUser(data)
}

/**
 * Creates the data under another name: an interrupted start leaves none. What
 * it leaves is removed by the next.
 */
async function createData(directory: string, data: string): Promise<void> {
  const folder = path.join(directory, 'initdb')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  const fresh = path.join(folder, 'postgres')
  const [program = '', ...args] = commandOf('initdb', fresh)
  const options = { env: postgresEnvironment }
  await run(program, [...args, '-D', fresh, ...initdbOptions], options)
  giveToUnusedUser(fresh)
  renameSync(fresh, data)
  rmSync(folder, { recursive: true })
  // Otherwise, a crash of the machine could undo this, and lose all data.
  await run('sync', [directory], options)
}

/** @throws Error with the output of a server that ends before it is ready */
async function startServer(data: string): Promise<PostgresServer> {
  const postgres = commandOf('postgres', data)
  const socketFolder = mkdtempSync(`${socketPrefix}${process.pid}-`)
  // Only root needs this, and only root can do it.
  spawnSync('chown', [String(statSync(data).uid), socketFolder])

  const shell = spawn(
    'sh',
    [
      ...['-c', runServer, 'sh', socketFolder],
      ...postgres,
      ...['-D', data],
      `--unix_socket_directories=${socketFolder}`,
      '--listen_addresses='
    ],
    // A separate process group, which Ctrl-C does not reach.
    {
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
      env: postgresEnvironment
    }
  )
  const ended = once(shell, 'close')
  let isStopping = false
  let output = ''
  const ready = new Promise<void>((resolve) => {
    shell.stderr.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-maxOutput)
      if (output.includes(readyMessage)) resolve()
    })
  })
  const unexpectedExit = ended.then(() => {
    if (!isStopping)
      throw new Error(`PostgreSQL has ended: ${reasonIn(output)}`)
  })
  // A command may have no use for it.
  unexpectedExit.catch(() => {})
  await Promise.race([ready, unexpectedExit])

  const stop = async () => {
    isStopping = true
    shell.stdin.end()
    await ended
  }
  return { url: urlOf(socketFolder), stop, unexpectedExit }
}

/** What PostgreSQL's lock file says about the server that has the data. */
function readLockFile(data: string) {
  const file = path.join(data, 'postmaster.pid')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const [pid, , , , socketFolder = '', , , status] = lines
  const isOurs = socketFolder.startsWith(socketPrefix)
  return { pid, socketFolder, isReady: isOurs && status?.trim() === 'ready' }
}

/**
 * Whether the PID in the lock file, which a crash of the machine left, is that
 * of another program: PostgreSQL looks only at whether there is such a process.
 */
function isRecycled(pid: string | undefined): boolean {
  const file = `/proc/${pid}/comm`
  return existsSync(file) && readFileSync(file, 'utf8') !== 'postgres\n'
}

const urlOf = (socketFolder: string): string =>
  `postgres://postgres@localhost/postgres?host=${socketFolder}`
