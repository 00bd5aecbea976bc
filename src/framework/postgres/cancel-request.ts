import pg from 'pg'

// Missing in pg's types.
declare module 'pg' {
  interface Client {
    readonly processID: number
    readonly secretKey: number
  }
  interface Connection {
    startup(parameters: object): void
    cancel(processId: number, secretKey: number): void
  }
}

/**
 * Sends a CancelRequest for the statement that a connection runs, encrypted if
 * the connection is. The server confirms nothing: the statement fails with
 * 57014, or ends as if there had been no request.
 *
 * @param timeoutMs milliseconds for the attempt
 */
export function sendCancelRequest(target: pg.Client, timeoutMs: number): void {
  const messenger = new pg.Client({
    host: target.host,
    port: target.port,
    ssl: target.ssl,
    connectionTimeoutMillis: timeoutMs
  })
  const { connection } = messenger

  // A CancelRequest takes the place of the startup message.
  connection.startup = () =>
    connection.cancel(target.processID, target.secretKey)

  messenger.on('error', () => {})
  messenger.connect().catch(() => connection.stream.destroy())
}
