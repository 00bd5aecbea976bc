import type { Database } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'
import type { NamedStatement } from '../postgres/statements.ts'

/**
 * Snapshots can be compared only while the identity stays the same:
 *
 * | part of it         | changes with                                 |
 * | ------------------ | -------------------------------------------- |
 * | change_epoch.id    | a crash, a failover, a pruning of the record |
 * | server start       | a copied data folder                         |
 * | file path          | a copied database, a rewritten table         |
 * | watched.xmin       | DDL on the table                             |
 * | columns.versions   | DDL on its columns                           |
 * | triggers.versions  | a restore, a trigger that was disabled       |
 *
 * No row is returned while changes are not recorded:
 *
 * - `change_epoch` has no row until the service starts an epoch.
 * - `watched` has none if the table does not exist, or others inherit from it.
 * - `columns` always has one.
 * - `triggers` has none without both triggers (HAVING).
 */
const tableVersion = sql`
  SELECT
    pg_current_snapshot() AS snapshot,
    changed_since(watched.oid, $2) AS "isChanged",
    concat_ws(
      ' ',
      change_epoch.id,
      pg_postmaster_start_time(),
      pg_relation_filepath(watched.oid),
      watched.xmin,
      columns.versions,
      triggers.versions
    ) AS identity
  FROM change_epoch
  CROSS JOIN pg_class AS watched
  CROSS JOIN LATERAL (
    SELECT string_agg(xmin::text, ' ' ORDER BY attnum) AS versions
    FROM pg_attribute
    WHERE attrelid = watched.oid AND attnum > 0
  ) AS columns
  CROSS JOIN LATERAL (
    SELECT string_agg(concat(oid, ':', xmin), ' ' ORDER BY oid) AS versions
    FROM pg_trigger
    WHERE tgrelid = watched.oid
      AND (tgname, tgenabled) IN (
        ('record_change', 'A'),
        ('record_replicated_change', 'R')
      )
    HAVING count(*) = 2
  ) AS triggers
  WHERE watched.oid = to_regclass($1)
    AND NOT watched.relhassubclass
`

interface TableVersion {
  snapshot: string
  identity: string
  isChanged: boolean
}

/**
 * Numbers the versions of a table, at the cost of one small query, whatever the
 * size of the table.
 */
export class ChangeCheck {
  readonly #database: Database
  readonly #table: string
  readonly #statement: NamedStatement
  #last: TableVersion | undefined
  #version = 0

  /** @param table must be watched by `CALL record_changes_of('table')` */
  constructor(database: Database, table: string) {
    this.#database = database
    this.#table = table
    this.#statement = database.statements.add('table-version', tableVersion)
  }

  /**
   * The number of the table's version. It differs from the number at the last
   * call if a transaction may have changed the table since then. Read the table
   * after the call, not before: the next call then finds a commit in between.
   * Calls must not overlap.
   */
  async version(): Promise<number> {
    const last = this.#last
    const [now] = await this.#database.read<TableVersion>({
      ...this.#statement,
      values: [this.#table, last?.snapshot]
    })
    this.#last = now

    if (isChanged(last, now)) this.#version++

    return this.#version
  }
}

function isChanged(
  last: TableVersion | undefined,
  now: TableVersion | undefined
): boolean {
  if (now === undefined || last === undefined) return true
  return now.isChanged || now.identity !== last.identity
}
