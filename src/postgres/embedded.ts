import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { oneLine } from '../log.ts'
import { embeddedPrograms, runWatched } from './embedded-programs.ts'

/** Attempts to start while another process uses the folder, each of a tenth of a second or more. */
const maxAttempts = 200

/**
 * Starts PostgreSQL on the data in `directory`, which is created if it does not exist. The server ends with this process,
 * however that ends, and keeps what it has acknowledged. A command uses the server of a running service instead. All other
 * processes on the folder wait for each other.
 *
 * @param startedBy `service` or the name of a command
 * @returns `stop` shuts the server down, or leaves it to its service
 * @throws Error when another service runs on the folder, or PostgreSQL cannot run here
 */
export async function startEmbeddedPostgres(directory: string, startedBy: string, log: Logger) {
  for (let attempt = 1; ; attempt++) {
    const service = await findService(directory)
    if (service !== undefined) {
      if (startedBy !== 'service') return { url: service.url, stop: () => Promise.resolve() }
      throw new Error(`already running from this folder (PID ${service.pid}): set DATA_DIR for a second one`)
    }
    const { initdb, postgres } = embeddedPrograms()
    try {
      const data = await findData(path.resolve(directory), initdb, log)
      return await startServer([...postgres, '-D', data], startedBy)
    } catch (error) {
      const isInUse = /postmaster\.pid|still in use/.test(oneLine(error))
      if (!isInUse || attempt === maxAttempts) throw error
    }
    if (attempt === 1) log.info({ directory }, 'waiting for another process to leave DATA_DIR')
    await sleep(100)
  }
}

/**
 * Returns the data folder. Creates it under a temporary name and renames it when complete, so that the data of an interrupted
 * start is never used.
 */
async function findData(directory: string, initdb: string[], log: Logger): Promise<string> {
  const data = path.join(directory, 'postgres')
  mkdirSync(directory, { recursive: true })
  if (!existsSync(data)) {
    log.info({ directory }, 'creating a new database')
    const fresh = path.join(mkdtempSync(path.join(directory, 'initdb-')), 'postgres')
    const settings = '-U postgres -A trust -E UTF8 --locale=C --no-instructions'.split(' ')
    const program = runWatched([...initdb, '-D', fresh, ...settings])
    try {
      if ((await program.ended) !== 0) throw new Error(`initdb failed: ${program.output()}`)
      renameSync(fresh, data)
    } catch (error) {
      // Another process may have been faster.
      if (!existsSync(data)) throw error
    }
  }
  // Left behind by this and earlier first starts.
  for (const name of readdirSync(directory)) {
    if (name.startsWith('initdb-')) rmSync(path.join(directory, name), { recursive: true, force: true, maxRetries: 10 })
  }
  return data
}

async function startServer(postgres: string[], startedBy: string) {
  // findService() reads this name.
  const socket = mkdtempSync(path.join(tmpdir(), `petcat-${startedBy}-${process.pid}-`))
  const settings = ['-k', socket, '-c', 'listen_addresses=', '-c', 'log_min_messages=fatal']
  const server = runWatched([...postgres, ...settings], socket)
  const url = urlOf(socket)
  while (!(await accepts(url))) {
    const isEnded = await Promise.race([server.ended.then(() => true), sleep(20, false)])
    if (isEnded) throw new Error(`PostgreSQL did not start: ${server.output()}`)
  }
  return { url, stop: server.stop }
}

/** Finds the server that a running service has on the data in `directory`: its URL, and the process id of the service. */
export async function findService(directory: string) {
  try {
    const file = readFileSync(path.resolve(directory, 'postgres/postmaster.pid'), 'utf8')
    const [socket = '', pid] = /^.*petcat-service-(\d+)-\w+$/m.exec(file) ?? []
    // Throws unless the process exists. A killed service leaves the file, and for a moment the server.
    process.kill(Number(pid), 0)
    if (await accepts(urlOf(socket))) return { url: urlOf(socket), pid: Number(pid) }
  } catch {
    // There is no data, or no server of a running service.
  }
  return undefined
}

/** The URL of a server by the folder of its socket. */
const urlOf = (socket: string) => `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`

/** Whether a server accepts connections. */
async function accepts(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  const isConnected = await client.connect().then(Boolean, () => false)
  await client.end()
  return isConnected
}
