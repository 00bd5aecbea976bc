import type { QueryResultRow } from 'pg'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { Reader } from '../postgres/database.ts'
import { inputParameters } from '../postgres/sql.ts'

/** Maximum number of input rows of a statement. */
const maxInputRows = 100

/** What finds a row, by the columns of `input`. */
export type InputRow<Column extends string> = Record<
  Column,
  string | number | bigint
>

/** A statement for any number of input rows. */
interface SharedRead<Column extends string> {
  /** The name of the prepared statement. */
  name: string
  /** The SQL types of the columns of `input`, by name. */
  inputTypes: Record<Column, string>
  /** Returns a row for each input row, in their order. */
  text: string
}

/** An input row as the statement takes it. */
interface WaitingRow {
  /** The input row as text: equal rows have equal texts. */
  inputText: string
  /** In the order of the columns. */
  values: string[]
}

/**
 * Reads a row for each input row. Requests that wait at the same time share one
 * statement, and those with equal input rows a row. A request never joins a
 * statement that has started, so it sees everything that was committed before
 * it arrived.
 *
 * @returns a function that reads the row for an input row; rejects like
 *   `Database.read`, and with Overloaded if too many requests wait, or this one
 *   waits for longer than DATABASE_TIMEOUT_MS
 */
export function sharedReader<Column extends string, Row extends QueryResultRow>(
  database: Reader,
  { name, inputTypes, text }: SharedRead<Column>
): (inputRow: InputRow<Column>) => Promise<Row> {
  const statement = database.statements.add(name, text)

  async function readRows(waiting: WaitingRow[]): Promise<Row[]> {
    sharedReads.observe(waiting.length)

    const distinct = new Map(
      waiting.map(({ inputText, values }) => [inputText, values])
    )
    const values = inputParameters([...distinct.values()])
    const rows = await database.read<Row>({ ...statement, values })

    const rowsByInput = new Map(
      [...distinct.keys()].map((inputText, index) => [inputText, rows[index]])
    )

    // The statement returns a row for each input row.
    return waiting.map(({ inputText }) => rowsByInput.get(inputText) as Row)
  }

  const read = batch(readRows, {
    name: `shared read ${name}`,
    maxSize: maxInputRows,
    maxWaitMs: database.timeoutMs
  })
  const columns = namesOf(inputTypes)

  return (inputRow) => {
    const values = columns.map((column) => String(inputRow[column]))
    return read({ inputText: JSON.stringify(values), values })
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
