import type { QueryResultRow } from 'pg'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Database } from '../postgres/database.ts'
import { columnsOf } from '../postgres/sql.ts'
import { nameStatement } from '../statement-names.ts'

/** Maximum number of lookups in a statement. */
const maxLookups = 100

/** The parameters that find one row, as text. */
type Lookup = (string | null)[]

const lookupKey = (lookup: Lookup): string => JSON.stringify(lookup)

/**
 * Reads rows by lookups. Requests that wait at the same time share one
 * statement, and those with equal lookups a row. A request never joins a
 * statement that has started, so it sees everything that was committed before
 * it arrived.
 *
 * @param name the name of the prepared statement
 * @param text a statement for any number of lookups that returns a row for
 *   each, in their order; its parameters are an array for each column of them
 * @returns reads the row of a lookup; rejects like `Database.read`, and with
 *   Overloaded if too many requests wait
 */
export function sharedRead<Row extends QueryResultRow>(
  database: Pick<Database, 'read'>,
  name: string,
  text: string
): (lookup: Lookup) => Promise<Row> {
  nameStatement(database, name, text)

  async function readRows(lookups: Lookup[]): Promise<Row[]> {
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
  return batch(readRows, { maxSize: maxLookups })
}
