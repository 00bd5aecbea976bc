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

/** A lookup as the statement takes it. */
interface Input {
  /** The lookup as text: equal lookups have equal texts. */
  lookupText: string
  /** In the order of the columns. */
  values: string[]
}

/**
 * Reads rows by lookups. Requests that wait at the same time share one
 * statement, and those with equal lookups a row. A request never joins a
 * statement that has started, so it sees everything that was committed before
 * it arrived.
 *
 * @returns a function that reads the row of a lookup; rejects like `Database.read`, and with
 *   Overloaded if too many requests wait
 */
export function sharedReader<Column extends string, Row extends QueryResultRow>(
  database: Database,
  { name, lookupTypes, text }: SharedRead<Column>
): (lookup: Lookup<Column>) => Promise<Row> {
  const statement = database.statements.add(name, text)

  async function readRows(inputs: Input[]): Promise<Row[]> {
    sharedReads.observe(inputs.length)

    const distinct = new Map(
      inputs.map(({ lookupText, values }) => [lookupText, values])
    )
    const values = columnsOf([...distinct.values()])
    const rows = await database.read<Row>({ ...statement, values })

    const found = new Map(
      [...distinct.keys()].map((lookupText, index) => [lookupText, rows[index]])
    )
    // The statement returns a row for each lookup.
    return inputs.map(({ lookupText }) => found.get(lookupText) as Row)
  }

  const read = batch(readRows, {
    name: `shared read ${name}`,
    maxSize: maxLookups
  })
  const columns = namesOf(lookupTypes)

  return (lookup) => {
    const values = columns.map((column) => String(lookup[column]))

    return read({ lookupText: JSON.stringify(values), values })
  }
}

/** The columns, which the type of Object.keys would not name. */
function namesOf<Column extends string>(
  types: Record<Column, string>
): Column[] {
  const names: Column[] = []

  for (const name in types) names.push(name)

  return names
}
