import type { QueryResultRow } from 'pg'
import { batch } from './batch.ts'
import type { Database, Statement } from './postgres/database.ts'

/** What finds a row, by the columns of `input`: undefined becomes NULL. */
export type InputRow<Column extends string> = Record<
  Column,
  string | number | bigint | boolean | null | undefined
>

/** A statement for any number of input rows. */
interface SharedReadDefinition<Column extends string, Row> {
  statementName: string
  /** The SQL types of the columns of `input`, by name. */
  inputTypes: Record<Column, string>
  /** Returns a row for each input row, in their order. */
  text: string
  /** Further ones wait for the next statement. */
  maxInputRows: number
  /** Runs it: by default, as one of the `reads`. */
  run?: (statement: Statement, values: unknown[]) => Promise<Row[]>
}

/**
 * Reads a row for each input row. Requests that wait at the same time share one
 * statement, and those with equal input rows a row. A request never joins a
 * statement that has started, so it sees everything that was committed before
 * it arrived.
 *
 * @returns a function that reads the row for an input row; rejects with the
 *   errors of `Database.run`, and with Overloaded if too many requests wait, or
 *   this one waits for longer than DATABASE_TIMEOUT_MS
 */
export function sharedReader<Column extends string, Row extends QueryResultRow>(
  database: Database,
  {
    statementName,
    inputTypes,
    text,
    maxInputRows,
    run = (statement, values) => database.run('reads', statement, values)
  }: SharedReadDefinition<Column, Row>
): (inputRow: InputRow<Column>) => Promise<Row> {
  const statement = database.prepare(statementName, text)

  /**
   * Reads each of equal input rows once.
   *
   * @param inputRows each as a JSON array
   */
  async function readRows(inputRows: string[]): Promise<Row[]> {
    const distinct = [...new Set(inputRows)]
    // The parameter of inputTable, here of rows that are JSON already.
    const values = [`[${distinct.join(',')}]`]
    const rows = await run(statement, values)
    const rowOf = new Map(
      distinct.map((inputRow, index) => [inputRow, rows[index]])
    )

    // The statement returns a row for each input row.
    return inputRows.map((inputRow) => rowOf.get(inputRow) as Row)
  }

  const read = batch(readRows, {
    maxSize: maxInputRows,
    maxWaitMs: database.timeoutMs
  })

  return (inputRow) => {
    const values: unknown[] = []
    for (const column in inputTypes) values.push(inputRow[column]?.toString())
    return read(JSON.stringify(values))
  }
}
