import type { Database } from './database.ts'
import { explain, UnusableDatabase } from './explain.ts'
import { postgresErrorIn } from './failures.ts'
import { migrationNames, unreleased, unreleasedSql } from './migrate.ts'

/** Fails on a database without tables, and for a role without privileges. */
export const appliedSql = 'SELECT name FROM applied_migrations'

/**
 * Returns a function that rejects unless the database responds and has every
 * migration of this version. It may have those of a later version, as after a
 * roll back. The message names the remedy.
 *
 * Waiting callers share a statement: /readyz needs no API key.
 *
 * @throws Error when the folder of the migrations is missing
 */
export function readinessCheck(database: Database): () => Promise<void> {
  const needed = migrationNames()
  const applied = database.prepare('appliedMigrations', appliedSql)
  const unreleasedTables = database.prepare('unreleasedTables', unreleasedSql)
  const repeatable = { isRepeatable: true }

  async function appliedNames(): Promise<string[]> {
    try {
      const rows = await database.run<{ name: string }>(applied, [], repeatable)
      return rows.map(({ name }) => name)
    } catch (error) {
      if (postgresErrorIn(error).code !== '42P01') throw error
      const tables = await database.run(unreleasedTables, [], repeatable)
      if (tables.length > 0) throw new UnusableDatabase(unreleased)
      throw error
    }
  }

  return database.share<void, void>(applied, async () => {
    const names = await appliedNames().catch(explain)
    const missing = needed.filter((name) => !names.includes(name))
    if (missing.length > 0)
      throw new Error(`the database lacks ${missing.join(', ')}: run migrate`)
  })
}
