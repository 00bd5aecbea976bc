import type { Metrics } from '../../src/framework/metrics.ts'
import type { Database } from '../../src/framework/postgres/database.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

/**
 * The value of a sample, such as `name{label="value"}`; undefined if there is
 * no such sample.
 *
 * @param source an app, or a database
 */
export async function sample(
  { metrics }: { metrics: Metrics },
  name: string
): Promise<number | undefined> {
  const lines = (await metrics.registry.metrics()).split('\n')
  const line = lines.find((one) => one.startsWith(`${name} `))
  const value = line?.slice(name.length).replace('Inf', 'Infinity')

  return value === undefined ? undefined : Number(value)
}

/** What a measured gauge shows after its statement has run once more. */
export async function measured(
  database: Database,
  name: string
): Promise<number> {
  const runs = () => successes({ database }, name)
  const before = await runs()
  // A scrape starts the next run, and a run that has started may be an old one.
  await until(async () => (await runs()) > before + 1, `${name} is measured`)

  return Number(await sample(database, name))
}

/** How often a statement has succeeded, by its name. */
export const successes = async (
  { database }: Pick<Service, 'database'>,
  statement: string
): Promise<number> =>
  (await sample(
    database,
    `database_statement_seconds_count{statement="${statement}",outcome="ok"}`
  )) ?? 0
