import type { Database } from './database.ts'

/** The privileges that the statements below need. */
export const changePrivileges = {
  changes: 'SELECT',
  change_epoch: 'SELECT',
  'FUNCTION changed_since(oid, pg_snapshot)': 'EXECUTE',
  'FUNCTION prune_changes()': 'EXECUTE'
}

// Snapshots can be compared only while the identity stays the same. It changes with the epoch after a crash, failover or
// pruning; with the start time or file path in a copied data folder or database; and with a row of a system catalog after a
// restore, DDL, or while the trigger was disabled. The query returns no row while changes are not recorded.
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
 * Returns a function that returns the result of `read`, but calls it again only if a transaction has changed the table since
 * the last call. An unchanged table costs one query, whatever its size. Calls must not overlap.
 *
 * @param table must have the trigger record_change (migrations/0006_changes.sql)
 * @param read must depend on this table only; it may run several statements
 */
export function readIfChanged<Value>(
  database: Pick<Database, 'read'>,
  table: string,
  read: () => Promise<Value>
) {
  let last: { moment: Moment; value: Value } | undefined
  return async (): Promise<Value> => {
    const [now] = await database.read<Moment>({
      name: 'changes',
      text: moment,
      values: [table, last?.moment.snapshot]
    })
    if (
      last !== undefined &&
      now?.isChanged === false &&
      now.identity === last.moment.identity
    ) {
      last.moment = now
      return last.value
    }
    // Frees the memory of the old value before reading the new one.
    last = undefined
    const value = await read()
    // The snapshot was taken before the read: a commit in between causes another read.
    if (now !== undefined) last = { moment: now, value }
    return value
  }
}
