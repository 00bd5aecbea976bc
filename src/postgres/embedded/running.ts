import { readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'

/** The URL of a server by the folder of its socket. */
export const urlOf = (socket: string) => `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`

/** Whether the server accepts connections. */
export async function accepts(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  const isConnected = await client.connect().then(Boolean, () => false)
  await client.end()
  return isConnected
}

/** Finds the server that a running service has on the data in `directory`: its URL, and the process id of the service. */
export async function findService(directory: string): Promise<{ url: string; pid: number } | undefined> {
  let file: string
  try {
    file = readFileSync(path.resolve(directory, 'postgres', 'postmaster.pid'), 'utf8')
  } catch {
    return undefined
  }
  const [socket, pid] = /^.*petcat-service-(\d+)-\w+$/m.exec(file) ?? []
  // A killed service leaves the file, and for a moment the server.
  if (socket === undefined || !isAlive(Number(pid)) || !(await accepts(urlOf(socket)))) return undefined
  return { url: urlOf(socket), pid: Number(pid) }
}

export const alreadyRunning = (pid: number) =>
  new Error(`Already running from this folder (PID ${pid}): set DATA_DIR for a second one`)

/** Whether there is a process with this id. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
