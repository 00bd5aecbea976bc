import { messageOf } from '../errors.ts'
import type { Database } from './database.ts'
import { throwWithRemedy, UnrecoverableDatabaseError } from './remedies.ts'
import { postgresErrorIn } from './failures.ts'
import {
  readMigrationNames,
  unreleasedMessage,
  unreleasedTablesSql
} from './migrations.ts'

/** Fails on a database without tables, and for a role without privileges. */
export const appliedMigrationsSql = 'SELECT name FROM applied_migrations'

/**
 * Returns a function that rejects unless the database responds and has every
 * migration of this version. It may have those of a later version, as after a
 * roll back. The message names the remedy. The log has each change.
 *
 * Waiting callers share a statement: /readyz needs no API key.
 *
 * @throws Error when the folder of the migrations is missing
 */
export function makeCheckReady(database: Database): () => Promise<void> {
  const needed = readMigrationNames()
  const applied = database.defineStatement(
    'appliedMigrations',
    appliedMigrationsSql
  )
  const unreleasedTables = database.defineStatement(
    'unreleasedTables',
    unreleasedTablesSql
  )

  async function appliedNames(): Promise<string[]> {
    try {
      const rows = await database.read<{ name: string }>(applied, [])
      return rows.map(({ name }) => name)
    } catch (error) {
      if (postgresErrorIn(error).code !== '42P01') throw error
      const tables = await database.read(unreleasedTables, [])
      if (tables.length > 0)
        throw new UnrecoverableDatabaseError(unreleasedMessage)
      throw error
    }
  }

  async function check(): Promise<void> {
    const names = await appliedNames().catch(throwWithRemedy)
    const missing = needed.filter((name) => !names.includes(name))
    if (missing.length > 0)
      throw new Error(`the database lacks ${missing.join(', ')}: run migrate`)
  }

  let logged = ''
  function logChange(line: string, level: 'info' | 'error'): void {
    if (line !== logged) database.log[level](line)
    logged = line
  }

  return database.share<void, void>(applied, async () => {
    try {
      await check()
      logChange('the database is ready', 'info')
    } catch (error) {
      // service.ts reports it, and ends the process.
      if (!(error instanceof UnrecoverableDatabaseError))
        logChange(`waiting for the database: ${messageOf(error)}`, 'error')
      throw error
    }
  })
}
