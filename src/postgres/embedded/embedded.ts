import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { oneLine } from '../../fail.ts'
import { findBinaries, unprivileged } from './binaries.ts'
import { alreadyRunning, connect, isAlive, lookUp, urlOf, waitForOthers } from './running.ts'
import { runWatched } from './watched.ts'

/** A PostgreSQL server on a unix socket that only this machine sees. */
export interface EmbeddedPostgres {
  url: string
  /** Ends the use of the server: shuts it down, or leaves it to the process that it belongs to. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** A command uses the server of another process if there is one; a service has its own. */
  startedBy?: 'service' | 'command'
  /** Ends the attempt to start the server. */
  signal?: AbortSignal
  /** Milliseconds to wait for another process that uses the folder. */
  patience?: number
}

/**
 * Starts PostgreSQL on the data in `directory`, which is created when it does not exist. The server ends with this process,
 * however that ends, and what it had acknowledged is there at the next start. Several processes may start on one folder:
 * they wait for each other.
 *
 * @throws Error when a service runs on the folder, the signal is aborted, or PostgreSQL cannot run here
 */
export async function startEmbeddedPostgres(
  directory: string,
  log: Logger,
  { startedBy = 'service', signal = new AbortController().signal, patience = 30_000 }: EmbeddedOptions = {}
): Promise<EmbeddedPostgres> {
  const deadline = performance.now() + patience
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    let problem: Error
    const running = await lookUp(directory)
    if (running === undefined) {
      try {
        return await startOwn(path.resolve(directory), log, startedBy, signal)
      } catch (error) {
        problem = error as Error
        if (!/postmaster\.pid|still in use/.test(problem.message)) throw problem
      }
    } else {
      if (startedBy === 'command' && running.isJoined) return { url: running.url, stop: () => running.client.end() }
      await running.client.end()
      problem = alreadyRunning(running)
      if (startedBy === 'service' && running.startedBy === 'service') throw problem
    }
    if (performance.now() > deadline) throw problem
    if (attempt === 1) log.info({ directory }, 'waiting for another process to leave DATA_DIR')
    await sleep(100, undefined, { signal })
  }
}

/** Starts a server of this process, on a new data folder if there is none. */
async function startOwn(
  directory: string,
  log: Logger,
  startedBy: string,
  signal: AbortSignal
): Promise<EmbeddedPostgres> {
  const binaries = findBinaries()
  try {
    mkdirSync(directory, { recursive: true })
    removeLeftovers(directory)
  } catch (error) {
    throw new Error(`DATA_DIR cannot be used: ${oneLine(error)}`, { cause: error })
  }
  const way = unprivileged(binaries, directory)
  const data = path.join(directory, 'postgres')
  if (!existsSync(data)) {
    log.info({ directory }, 'creating a new database')
    await initialise([...way, path.join(binaries, 'initdb')], data, signal)
  }

  const socket = mkdtempSync(path.join(tmpdir(), 'petcat-'))
  const settings = ['listen_addresses=', 'log_min_messages=fatal', `cluster_name=${startedBy}-${process.pid}`]
  const options = ['-D', data, '-k', socket, ...settings.flatMap((setting) => ['-c', setting])]
  const server = runWatched([...way, path.join(binaries, 'postgres'), ...options], socket)
  signal.addEventListener('abort', server.stop)
  const url = urlOf(socket)
  for (;;) {
    const client = await connect(url)
    await client?.end()
    if (client !== undefined) break
    if (server.hasEnded()) throw new Error(`PostgreSQL did not start on DATA_DIR (${directory}): ${server.output()}`)
    await Promise.race([server.ended, sleep(20)])
  }
  // From here on it ends by stop(), after what still uses it.
  signal.removeEventListener('abort', server.stop)
  return {
    url,
    async stop() {
      const others = startedBy === 'command' ? await waitForOthers(url) : undefined
      server.stop()
      await server.ended
      await others?.end()
    }
  }
}

/** Creates a data folder beside its place and moves it there whole, so that one which was cut off is never used. */
async function initialise(initdb: string[], data: string, signal: AbortSignal): Promise<void> {
  const fresh = path.join(path.dirname(data), `initdb-${process.pid}-${randomBytes(4).toString('hex')}`)
  const settings = '-U postgres -A trust -E UTF8 --locale=C --no-instructions'.split(' ')
  const program = runWatched([...initdb, '-D', fresh, ...settings])
  signal.addEventListener('abort', program.stop)
  const status = await program.ended
  try {
    if (status !== 0) throw new Error(`DATA_DIR cannot hold a database: ${program.output()}`)
    renameSync(fresh, data)
  } catch (error) {
    // Another process may have been faster: its data is as good.
    if (!existsSync(data)) throw error
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** Removes what first starts left that were killed. */
function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) {
    const [, pid] = /^initdb-(\d+)/.exec(name) ?? []
    if (pid === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue
    rmSync(path.join(directory, name), { recursive: true, force: true })
  }
}
