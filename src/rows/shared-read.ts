import type { QueryResultRow } from 'pg'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Database } from '../postgres/database.ts'
import { columnsOf } from '../postgres/sql.ts'

/** Maximum number of lookups in a statement. */
const maxLookups = 100

/** What finds a row, by the columns of `input`. */
export type Lookup<Column extends string> = Record<
  Column,
  string | number | bigint
>

/** A statement for any number of lookups. */
interface SharedRead<Column extends string> {
  /** The name of the prepared statement. */
  name: string
  /** The SQL types of the columns of a lookup, by name, for `inputRows`. */
  lookupTypes: Record<Column, string>
  /** Returns a row for each lookup, in their order. */
  text: string
}

/**
 * Reads rows by lookups. Requests that wait at the same time share one
 * statement, and those with equal lookups a row. A request never joins a
 * statement that has started, so it sees everything that was committed before
 * it arrived.
 *
 * @returns reads the row of a lookup; rejects like `Database.read`, and with
 *   Overloaded if too many requests wait
 */
export function sharedRead<Column extends string, Row extends QueryResultRow>(
  database: Database,
  { name, lookupTypes, text }: SharedRead<Column>
): (lookup: Lookup<Column>) => Promise<Row> {
  database.statements.add(name, text)

  async function readRows(lookups: string[][]): Promise<Row[]> {
    sharedReads.observe(lookups.length)
    const distinct = new Map(
      lookups.map((lookup) => [lookupKey(lookup), lookup])
    )
    const values = columnsOf([...distinct.values()])
    const rows = await database.read<Row>({ name, text, values })

    const found = new Map(
      [...distinct.keys()].map((lookup, index) => [lookup, rows[index]])
    )
    // The statement returns a row for each lookup.
    return lookups.map((lookup) => found.get(lookupKey(lookup)) as Row)
  }

  const read = batch(readRows, { maxSize: maxLookups })
  const columns = Object.keys(lookupTypes)

  return (lookup) => {
    const values = new Map<string, unknown>(Object.entries(lookup))

    return read(columns.map((column) => String(values.get(column))))
  }
}

const lookupKey = (lookup: string[]): string => JSON.stringify(lookup)
