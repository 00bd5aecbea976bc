import { statfsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Test } from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'

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
    node_filesystem_avail_bytes: 1 << 30,
    node_filesystem_size_bytes: 1 << 30,
    node_timex_offset_seconds: 0,
    node_timex_sync_status: 1,
    pg_replication_slots_active: 1,
    pg_settings_max_connections: 100,
    pg_stat_activity_count: 10,
    pg_stat_archiver_failed_count: 0,
    probe_success: 1,
    probe_ssl_earliest_cert_expiry: now + 60 * 86400
  }

  const server = createServer((_request, response) => {
    const lines = Object.entries(samples).map(
      ([name, value]) => `${name} ${value}\n`
    )
    response.setHeader('content-type', 'text/plain; version=0.0.4')
    response.end(lines.join(''))
  })
  const port = await listenOnLoopback(t, server)

  return {
    address: `127.0.0.1:${port}`,
    /** Replaces samples. */
    export(changed: Samples): void {
      Object.assign(samples, changed)
    },
    /** Measures a disk, as node_exporter does. */
    exportDisk(folder: string): void {
      const { bsize, bavail, blocks } = statfsSync(folder)
      Object.assign(samples, {
        node_filesystem_avail_bytes: bavail * bsize,
        node_filesystem_size_bytes: blocks * bsize
      })
    }
  }
}
