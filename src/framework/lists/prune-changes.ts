import type { Logger } from 'pino'
import { housekeepingSucceeded } from '../metrics.ts'
import type { BackgroundWriter } from '../postgres/database.ts'
import type { NamedStatement } from '../postgres/statements.ts'
import { repeat } from '../postgres/repeat.ts'

/** Milliseconds between two prunings. */
const intervalMs = 5000

/**
 * Deletes the records of changes that no list needs: immediately, and then
 * every five seconds.
 *
 * @returns a function that stops the task
 */
export function startPruningChanges(
  database: BackgroundWriter,
  log: Logger
): () => void {
  housekeepingSucceeded('changes')

  const statement = database.statements.add(
    'prune-changes',
    'SELECT prune_changes()'
  )
  const work = () => pruneChanges(database, statement)

  return repeat({ name: 'prune changes', intervalMs, work }, log)
}

async function pruneChanges(
  database: BackgroundWriter,
  statement: NamedStatement
): Promise<void> {
  await database.writeInBackground(statement)
  housekeepingSucceeded('changes')
}
