import { housekeepingSucceeded } from '../metrics.ts'
import type { Database } from '../postgres/database.ts'
import { repeat } from '../repeat.ts'

/** The privileges that the statement below needs. */
export const pruningPrivileges = { 'FUNCTION prune_changes()': 'EXECUTE' }

/** Milliseconds between two prunings. */
const intervalMs = 5000

type Background = Pick<Database, 'writeInBackground'>

/**
 * Deletes the records of changes that no list needs: at once, and then every
 * five seconds.
 *
 * @returns a function that ends it
 */
export function startPruningChanges(database: Background): () => void {
  housekeepingSucceeded('changes')

  return repeat(() => pruneChanges(database), intervalMs)
}

async function pruneChanges(database: Background): Promise<void> {
  await database.writeInBackground({
    name: 'prune-changes',
    text: 'SELECT prune_changes()'
  })
  housekeepingSucceeded('changes')
}
