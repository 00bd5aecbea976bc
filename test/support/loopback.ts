import { once } from 'node:events'
import { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { Test } from 'tap'

/**
 * Lets a server listen on this machine, until the test ends.
 *
 * @returns its port
 */
export async function listenOnLoopback(
  t: Test,
  server: Server
): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    if (server instanceof HttpServer) server.closeAllConnections()
  })

  const { port } = server.address() as AddressInfo

  return port
}
