import type { Metrics } from '../../src/framework/metrics.ts'
import type { Service } from './service.ts'

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

/** How often a statement has succeeded, by its name. */
export const successes = async (
  { database }: Service,
  statement: string
): Promise<number> =>
  (await sample(
    database,
    `database_statement_seconds_count{statement="${statement}",outcome="ok"}`
  )) ?? 0
