// All that the service uses of pg beyond its documentation. These tests fail
// when pg changes it:
//
// | used                           | test/framework/postgres                |
// |--------------------------------|----------------------------------------|
// | processID, secretKey           | failures: too long, is cancelled       |
// | sslNegotiation                 | tls: a connection and its              |
// | connection.startup and .cancel | failures: too long, is cancelled       |
// | the order: TLS, then startup   | tls: a connection and its              |
// | connection.stream              | failures: a silent server              |
// |                                | failover: a read-only server           |
// | a rejection by onConnect       | failover: a read-only server           |
// | name and callback of a Query    | failures: an outdated prepared         |
// | routine of a notice            | synchronous: an operator cancels it    |
// | a message of a pool            | failures: gets no connection in time   |
import pg, { type ClientBase } from 'pg'

/** In pg's types, onConnect cannot be asynchronous. */
export type PoolConfig = pg.PoolConfig & {
  onConnect: (connection: ClientBase) => Promise<void>
}

// Missing in pg's types.
declare module 'pg' {
  interface ClientBase {
    connection: Connection
  }
  interface Client {
    processID: number
    secretKey: number
    sslNegotiation: 'postgres' | 'direct'
  }
  interface Connection {
    startup(parameters: object): void
    cancel(processId: number, secretKey: number): void
  }
}

/**
 * Sends a CancelRequest for the statement that a connection runs, encrypted if
 * the connection is. Poolers pass it on. The server confirms nothing: the
 * statement fails with 57014, or ends as if there had been no request.
 *
 * @param timeoutMs milliseconds for the attempt
 */
export function sendCancelRequest(target: pg.Client, timeoutMs: number): void {
  const messenger = new pg.Client({
    host: target.host,
    port: target.port,
    ssl: target.ssl,
    sslnegotiation: target.sslNegotiation,
    connectionTimeoutMillis: timeoutMs
  })
  const { connection } = messenger

  // A CancelRequest takes the place of the startup message.
  connection.startup = () =>
    connection.cancel(target.processID, target.secretKey)

  messenger.on('error', () => {})
  messenger.connect().catch(() => connection.stream.destroy())
}
