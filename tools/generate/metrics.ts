// Compares docs/metrics.md with the metrics that the service registers.
import { loadConfig } from '../../src/framework/config.ts'
import { connectionOptions } from '../../src/framework/http/connections.ts'
import { measureNextExpiry } from '../../src/framework/keys/next-expiry.ts'
import { ResponseBuffers } from '../../src/framework/reads/response-buffers.ts'
import { api } from '../../src/handlers/index.ts'
import { idleDatabase, noFile } from './statements.ts'

/** The metrics that have no row in the page, or one with another meaning. */
export function undocumentedMetrics(page: string) {
  const database = idleDatabase()
  const { metrics } = database
  connectionOptions(loadConfig({}, noFile), metrics, new WeakMap())
  measureNextExpiry(database)
  api.handlers(database, new ResponseBuffers(0, metrics))

  const rows = page.matchAll(/^\| `(\w+)[^|]*\| (.*?) +\|/gm)
  const meanings = new Map(
    Array.from(rows, ([, name, meaning]) => [name, meaning])
  )
  return metrics.registry
    .getMetricsAsArray()
    .filter(({ name, help }) => meanings.get(name) !== help)
}
