// The table of docs/metrics.md, from the metrics that the service registers.
import { loadConfig } from '../../src/framework/config.ts'
import { connectionOptions } from '../../src/framework/http/connections.ts'
import { measureNextExpiry } from '../../src/framework/keys/next-expiry.ts'
import { ResponseBuffers } from '../../src/framework/reads/response-buffers.ts'
import { api } from '../../src/handlers/index.ts'
import { tableOf, withSection } from './markdown.ts'
import { idleDatabase, noFile } from './statements.ts'

interface Metric {
  name: string
  help: string
  labelNames: string[]
}

const head = ['metric', 'meaning', 'look at it when']

/** A row of the table; people write its last cell. */
const writtenRow = /^\| `(\w+).*\| +(.+?) +\|$/gm

/**
 * docs/metrics.md with the table of the metrics.
 *
 * @throws Error if the table does not say when to look at a metric
 */
export function metricsPage(page: string): Promise<string> {
  const looks = new Map(
    [...page.matchAll(writtenRow)].map(([, name, look]) => [name, look])
  )
  const database = idleDatabase()
  const { metrics } = database
  connectionOptions(loadConfig({}, noFile), metrics, new WeakMap())
  measureNextExpiry(database)
  api.handlers(database, new ResponseBuffers(0, metrics))
  // The types of prom-client lack labelNames.
  const all = metrics.registry.getMetricsAsArray() as unknown as Metric[]

  const rows = all.map(({ name, labelNames, help }) => {
    const look = looks.get(name)
    if (look === undefined) {
      throw new Error(
        `docs/metrics.md needs the row: | \`${name}\` | | when to look at it |`
      )
    }
    const labels = labelNames.length > 0 ? `{${labelNames.join()}}` : ''
    return [`\`${name}${labels}\``, help, look]
  })

  return withSection(page, 'metrics', tableOf(head, rows))
}
