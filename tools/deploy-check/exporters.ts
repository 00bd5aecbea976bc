import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Samples by the name of their metric. */
type Samples = Record<string, number>

/**
 * Stands in for exporters, until the test ends: clocks, certificates and
 * backups of this machine cannot be made wrong.
 */
export async function startExporters(t: Test) {
  const now = Date.now() / 1000
  const samples: Samples = {
    backup_last_success_timestamp_seconds: now,
    node_timex_offset_seconds: 0,
    node_timex_sync_status: 1,
    probe_ssl_earliest_cert_expiry: now + 60 * 86400
  }

  const server = createServer((_request, response) => {
    const lines = Object.entries(samples).map(
      ([name, value]) => `${name} ${value}\n`
    )
    response.setHeader('content-type', 'text/plain; version=0.0.4')
    response.end(lines.join(''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })

  const { port } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${port}`,
    /** Replaces samples. */
    export(changed: Samples): void {
      Object.assign(samples, changed)
    }
  }
}
