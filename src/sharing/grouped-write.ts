import type { QueryResultRow } from 'pg'
import { batch } from '../batch.ts'
import { groupedWrites } from '../metrics.ts'
import { columnsOf, type Database } from '../postgres/database.ts'
import { isFaultOfValue } from '../postgres/errors.ts'

/**
 * Writes items that arrive together with one statement, in their order. The next group gathers while one commits, so an idle
 * service adds no delay. An item that PostgreSQL rejects fails alone.
 *
 * @param name the name of the prepared statement
 * @param text one statement for any number of items that returns a row for each, in their order
 * @param values returns the values of an item; the parameters of the statement are one array for each value, of all items
 * @returns writes an item and returns its row; rejects like `Database.write`, and with Overloaded if too many items wait
 */
export function groupedWrite<Item, Row extends QueryResultRow>(
  database: Database,
  name: string,
  text: string,
  values: (item: Item) => unknown[]
) {
  function write(items: Item[]): Promise<Row[]> {
    groupedWrites.observe({ statement: name }, items.length)
    return database.write<Row>({ name, text, values: columnsOf(items.map(values)) })
  }
  return batch(write, { maxWaiting: 1000, maxSize: 250, isFaultOfItem: isFaultOfValue })
}
