import type { QueryResultRow } from 'pg'
import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import { columnsOf, type Database } from '../postgres/database.ts'

/**
 * Reads a row by its key. Requests that wait at the same time share one statement, and those with the same key its row. A
 * request never joins a statement that has started, so it sees everything that was committed before it arrived.
 *
 * @param name the name of the prepared statement
 * @param text one statement for any number of keys that returns a row for each, in their order; its parameters are the keys as
 *   one array for each of their values
 * @returns reads the row of a key; rejects like `Database.read`, and with Overloaded if too many requests wait
 */
export function sharedRead<Row extends QueryResultRow>(
  database: Database,
  name: string,
  text: string
) {
  async function readRows(keys: (string | null)[][]): Promise<Row[]> {
    sharedReads.observe(keys.length)
    const texts = keys.map((key) => JSON.stringify(key))
    const distinct = new Map(keys.map((key, index) => [texts[index], key]))
    const rows = await database.read<Row>({
      name,
      text,
      values: columnsOf([...distinct.values()])
    })
    const found = new Map(
      [...distinct.keys()].map((key, index) => [key, rows[index]])
    )
    return texts.map((key) => found.get(key) as Row)
  }
  return batch(readRows, { maxSize: 100 })
}
