import { readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'

/** A server that runs on a data folder, and a connection to it. */
export interface Running {
  url: string
  client: pg.Client
  /** Who started it: `service` or `command`. */
  startedBy: string
  /** The process that started it. */
  pid: number
  /** Whether the server stays as long as the connection is open. */
  isJoined: boolean
}

// Shared by those who use the server of another process; taken exclusively by a command that is about to stop its own.
const lock = 7_361_221

/** The URL of a server by the folder of its socket. */
export const urlOf = (socket: string) => `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`

/** Connects to a server, if it responds. */
export async function connect(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch {
    await client.end()
    return undefined
  }
}

/** The server on the data in `directory`, if one responds and the process that started it lives. */
export async function lookUp(directory: string): Promise<Running | undefined> {
  let socket: string | undefined
  try {
    socket = readFileSync(path.resolve(directory, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[4]
  } catch {
    return undefined
  }
  if (!socket) return undefined
  const url = urlOf(socket)
  const client = await connect(url)
  if (client === undefined) return undefined
  try {
    const { rows } = await client.query<{ startedBy: string; pid: number; isJoined: boolean }>(`
      SELECT split_part(name, '-', 1) AS "startedBy", split_part(name, '-', 2)::int AS pid,
        pg_try_advisory_lock_shared(${lock}) AS "isJoined"
      FROM current_setting('cluster_name') AS name`)
    const [row] = rows
    if (row !== undefined && isAlive(row.pid)) return { url, client, ...row }
  } catch {
    // It is shutting down.
  }
  await client.end()
  return undefined
}

/** Rejects when a service runs on the data in `directory`. */
export async function rejectSecondService(directory: string): Promise<void> {
  const running = await lookUp(directory)
  await running?.client.end()
  if (running?.startedBy === 'service') throw alreadyRunning(running)
}

export const alreadyRunning = ({ pid }: Running) =>
  new Error(`Already running from this folder (PID ${pid}): set DATA_DIR for a second one`)

/**
 * Waits until nobody else uses the server at `url`, at most 10 s; nobody can join it from then on.
 *
 * @returns the connection that keeps others away, if the server responds
 */
export async function waitForOthers(url: string): Promise<pg.Client | undefined> {
  const client = await connect(url)
  await client?.query(`SET lock_timeout = '10s'; SELECT pg_advisory_lock(${lock})`).catch(() => {})
  return client
}

/** Whether there is a process with this id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
