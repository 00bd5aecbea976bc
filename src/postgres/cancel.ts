import pg from 'pg'

// pg has these, its types lack them.
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

/**
 * Asks the server to cancel the statement that the client runs, on a new connection, encrypted as the client's is. The
 * server confirms nothing here: the statement fails with 57014, or ends as if nothing had been asked.
 *
 * @param timeout milliseconds after which the new connection is closed; its errors are ignored
 */
export function cancel({ host, port, ssl, processID, secretKey }: pg.Client, timeout: number): void {
  const connection = new pg.Connection({ ssl })
  const giveUp = setTimeout(() => connection.stream.destroy(), timeout)
  const send = () => connection.cancel(processID, secretKey)
  connection.on('error', () => {})
  connection.on('end', () => clearTimeout(giveUp))
  connection.on('connect', () => (ssl ? connection.requestSsl() : send()))
  connection.on('sslconnect', send)
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
  else connection.connect(port, host)
}
