import type { Database } from './database.ts'

/** Milliseconds. */
const pruneInterval = 5000

/** The privileges that the statements below need. */
export const changePrivileges = {
  changes: 'SELECT',
  change_epoch: 'SELECT',
  'FUNCTION changed_since(oid, pg_snapshot)': 'EXECUTE',
  'FUNCTION prune_changes()': 'EXECUTE'
}

// Snapshots compare only within one identity: a crash, failover or pruning gives a new epoch, a copied data folder or
// database another start or path, and a restore, a trigger that was off, or DDL, another version of a row in a catalog. There
// is no row while changes are not recorded.
const moment = `
  SELECT pg_current_snapshot() AS snapshot, changed_since(tgrelid, $2) AS "isChanged", concat_ws(' ', change_epoch.id,
    pg_postmaster_start_time(), pg_relation_filepath(tgrelid), pg_trigger.oid, pg_trigger.xmin, pg_class.xmin,
    (SELECT string_agg(xmin::text, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = tgrelid AND attnum > 0)) AS identity
  FROM change_epoch, pg_trigger JOIN pg_class ON pg_class.oid = tgrelid AND NOT relhassubclass
  WHERE tgrelid = to_regclass($1) AND tgname = 'record_change' AND tgenabled = 'A'`

interface Moment {
  snapshot: string
  identity: string
  /** Null without an earlier snapshot. */
  isChanged: boolean | null
}

/**
 * Returns a function that returns what `read` does, and calls it only if a transaction that the last call did not see
 * changed the table. Otherwise it costs one query, whatever the size of the table. Its calls must not overlap.
 *
 * @param table one with the trigger record_change (migrations/0006_changes.sql)
 * @param read only reads this table, and may take several statements
 */
export function readIfChanged<Value>(database: Pick<Database, 'read'>, table: string, read: () => Promise<Value>) {
  let last: { moment: Moment; value: Value } | undefined
  return async (): Promise<Value> => {
    const values = [table, last?.moment.snapshot]
    const [now] = await database.read<Moment>({ name: 'changes', text: moment, values })
    if (last !== undefined && now?.isChanged === false && now.identity === last.moment.identity) {
      last.moment = now
      return last.value
    }
    // Frees the memory of the old value for the new one.
    last = undefined
    const value = await read()
    // The snapshot is older than what was read: what was committed meanwhile is read again.
    if (now !== undefined) last = { moment: now, value }
    return value
  }
}

/** Keeps the record of changes short, from time to time. Returns a function that ends this. */
export function pruneChanges(database: Pick<Database, 'writeInBackground'>): () => void {
  const prune = () => database.writeInBackground({ text: 'SELECT prune_changes()' })
  const timer = setInterval(() => void prune().catch(() => {}), pruneInterval)
  return () => clearInterval(timer)
}
