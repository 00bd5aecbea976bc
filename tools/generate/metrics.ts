// Compares docs/metrics.md with the metrics that the service registers.
import { loadConfig } from '../../src/framework/config.ts'
import { connectionOptions } from '../../src/framework/http/connections.ts'
import { measureNextExpiry } from '../../src/framework/keys/next-expiry.ts'
import { ResponseBuffers } from '../../src/framework/reads/response-buffers.ts'
import { api } from '../../src/handlers/index.ts'
import { idleDatabase, noFile } from './statements.ts'

/** The names of the metrics that have no row in the page. */
export function undocumentedMetrics(page: string): string[] {
  const database = idleDatabase()
  const { metrics } = database
  connectionOptions(loadConfig({}, noFile), metrics, new WeakMap())
  measureNextExpiry(database)
  api.handlers(database, new ResponseBuffers(0, metrics))

  return metrics.registry
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => !new RegExp(`^\\| \`${name}[{\`]`, 'm').test(page))
}
