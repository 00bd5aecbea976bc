import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { oneLine } from '../../log.ts'
import { findBinaries, unprivileged } from './binaries.ts'
import { accepts, alreadyRunning, findService, isAlive, urlOf } from './running.ts'
import { runWatched } from './watched.ts'

/** Milliseconds to wait for another process to leave the folder. */
const patience = 60_000

/**
 * Starts PostgreSQL on the data in `directory`, which is created if it does not exist. The server ends with this process,
 * however that ends, and keeps what it has acknowledged. A command uses the server of a running service instead. All other
 * processes on the folder wait for each other.
 *
 * @param options.signal ends the start
 * @returns `stop` shuts the server down, or leaves it to its service
 * @throws Error when another service runs on the folder, the signal is aborted, or PostgreSQL cannot run here
 */
export async function startEmbeddedPostgres(
  directory: string,
  log: Logger,
  options: { startedBy?: 'service' | 'command'; signal?: AbortSignal } = {}
): Promise<EmbeddedPostgres> {
  const { startedBy = 'service', signal = new AbortController().signal } = options
  const deadline = performance.now() + patience
  for (let isWaiting = false; ; isWaiting = true) {
    signal.throwIfAborted()
    const service = await findService(directory)
    if (service !== undefined) {
      if (startedBy === 'service') throw alreadyRunning(service.pid)
      return { url: service.url, stop: () => Promise.resolve() }
    }
    try {
      return await startServer(path.resolve(directory), log, startedBy, signal)
    } catch (error) {
      const isInUse = /postmaster\.pid|still in use|(ENOTEMPTY|EEXIST): .*, rename/.test(oneLine(error))
      if (!isInUse || performance.now() > deadline) throw error
    }
    if (!isWaiting) log.info({ directory }, 'waiting for another process to leave DATA_DIR')
    await sleep(100, undefined, { signal })
  }
}

export type EmbeddedPostgres = Awaited<ReturnType<typeof startServer>>

async function startServer(directory: string, log: Logger, startedBy: string, signal: AbortSignal) {
  const binaries = findBinaries()
  try {
    mkdirSync(directory, { recursive: true })
    removeLeftovers(directory)
  } catch (error) {
    throw new Error(`DATA_DIR cannot be used: ${oneLine(error)}`, { cause: error })
  }
  const user = unprivileged(binaries, directory)
  const data = path.join(directory, 'postgres')
  if (!existsSync(data)) {
    log.info({ directory }, 'creating a new database')
    await createData([...user, path.join(binaries, 'initdb')], data, signal)
  }

  // findService() reads this name.
  const socket = mkdtempSync(path.join(tmpdir(), `petcat-${startedBy}-${process.pid}-`))
  const settings = ['-k', socket, '-c', 'listen_addresses=', '-c', 'log_min_messages=fatal']
  const server = runWatched([...user, path.join(binaries, 'postgres'), '-D', data, ...settings], socket)
  signal.addEventListener('abort', server.stop)
  const url = urlOf(socket)
  while (!(await accepts(url))) {
    const isEnded = await Promise.race([server.ended.then(() => true), sleep(20, false)])
    if (isEnded) throw new Error(`PostgreSQL did not start on DATA_DIR (${directory}): ${server.output()}`)
  }
  // From here on, stop() ends it, after its users.
  signal.removeEventListener('abort', server.stop)
  return {
    url,
    async stop() {
      server.stop()
      await server.ended
    }
  }
}

/** Creates a data folder beside its place and moves it there when complete, so that an interrupted one is never used. */
async function createData(initdb: string[], data: string, signal: AbortSignal): Promise<void> {
  const folder = mkdtempSync(path.join(path.dirname(data), `initdb-${process.pid}-`))
  const fresh = path.join(folder, 'postgres')
  const settings = '-U postgres -A trust -E UTF8 --locale=C --no-instructions'.split(' ')
  const program = runWatched([...initdb, '-D', fresh, ...settings])
  signal.addEventListener('abort', program.stop)
  try {
    if ((await program.ended) !== 0) throw new Error(`DATA_DIR cannot hold a database: ${program.output()}`)
    // ENOTEMPTY or EEXIST if another process was faster: the next attempt uses its data.
    renameSync(fresh, data)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Removes what killed first starts left behind. */
function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) {
    const [, pid] = /^initdb-(\d+)/.exec(name) ?? []
    if (pid === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue
    rmSync(path.join(directory, name), { recursive: true, force: true })
  }
}
