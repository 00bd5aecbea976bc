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
 * Creates a pool of connections to the one of several servers that accepts writes: the primary, never a standby. If a
 * connection fails, the next server is tried. The loss of a connection only fails the statement on it. A
 * warning that a commit may not have reached the synchronous standby fails it too, although PostgreSQL reports a success.
 *
 * @param url the URLs of the servers, separated by commas
 * @param timeout milliseconds to connect, for all servers together, and to wait for a free connection
 * @throws Error when a URL, or a certificate file that it names, cannot be used
 */
export function createPool(
  url: string,
  timeout: number,
  options: pg.PoolConfig = {}
): pg.Pool {
  const urls = url.split(/, *(?=postgres(?:ql)?:)/)
  const share = timeout / urls.length
  const servers = urls.map((connectionString) => ({
    ...options,
    connectionString,
    connectionTimeoutMillis: share
  }))
  // Throws now rather than at each statement.
  for (const server of servers) new pg.Client(server)
  let current = 0

  class Client extends pg.Client {
    constructor() {
      super(servers[current])
      this.on('error', () => {})
      this.on('notice', ({ routine }) => {
        // The text of the warning is translated, and its SQLSTATE is not specific.
        if (routine === 'SyncRepWaitForLSN')
          this.connection.emit(
            'error',
            new Error('the wait for the standby ended')
          )
      })
    }
  }

  class Pool extends pg.Pool {
    override async connect(): Promise<pg.PoolClient> {
      const lastStart = performance.now() + timeout - share
      for (let attempt = 1; ; attempt++) {
        const server = current
        const client = await super.connect().catch((error: unknown) => {
          if (current === server) current = (current + 1) % servers.length
          if (attempt === servers.length || performance.now() > lastStart)
            throw error
        })
        if (client) return client
      }
    }
  }

  async function onConnect(client: pg.ClientBase) {
    const query = { text: 'SHOW transaction_read_only', query_timeout: share }
    const { rows } = await client.query<{ transaction_read_only: string }>(
      query
    )
    const { host, port } = client as pg.Client
    if (rows[0]?.transaction_read_only === 'on')
      throw new Error(`the server at ${host}:${port} is read-only`)
  }

  // With `verify`, the pool would lose a connection whose request stops waiting during the check.
  const config = {
    ...options,
    connectionTimeoutMillis: timeout,
    Client,
    onConnect
  }
  return new Pool(config).on('error', () => {})
}

/**
 * Sends a CancelRequest for the statement that the client runs, encrypted if the client's connection is. The server
 * confirms nothing: the statement fails with 57014, or ends as without a request.
 *
 * @param timeout milliseconds for the attempt
 */
export function cancel(
  { host, port, ssl, processID, secretKey }: pg.Client,
  timeout: number
): void {
  const client = new pg.Client({
    host,
    port,
    ssl,
    connectionTimeoutMillis: timeout
  })
  const { connection } = client
  connection.startup = () => connection.cancel(processID, secretKey)
  client.on('error', () => {})
  client.connect().catch(() => connection.stream.destroy())
}
