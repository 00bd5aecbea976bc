import { Socket } from 'node:net'
import pg from 'pg'

// Missing in pg's types.
declare module 'pg' {
  interface Client {
    readonly processID: number
    readonly secretKey: number
  }
  interface Connection {
    connect(port: number | string, host?: string): void
    requestSsl(): void
    cancel(processId: number, secretKey: number): void
  }
}

/** Connections on which the server warned that a commit may not have reached its synchronous standby. */
export const unreplicated = new WeakSet<pg.Client>()

/** Creates a pool that survives the loss of a connection, which only fails the statement on it. */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config)
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', () => {})
    client.on('notice', ({ routine }) => {
      // The text of the warning is translated, and its SQLSTATE is not specific.
      if (routine === 'SyncRepWaitForLSN') unreplicated.add(client)
    })
  })
  return pool
}

/**
 * Sends a CancelRequest for the statement that the client runs, encrypted if the client's connection is. The server
 * confirms nothing: the statement fails with 57014, or ends as without a request.
 *
 * @param timeout milliseconds for the attempt
 */
export function cancel({ host, port, ssl, processID, secretKey }: pg.Client, timeout: number): void {
  const stream = () => new Socket({ signal: AbortSignal.timeout(timeout) })
  const connection = new pg.Connection({ ssl, stream })
  const send = () => connection.cancel(processID, secretKey)
  connection.on('error', () => {})
  connection.on('connect', () => (ssl ? connection.requestSsl() : send()))
  connection.on('sslconnect', send)
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
  else connection.connect(port, host)
}
