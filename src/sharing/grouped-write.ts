import type { QueryResultRow } from 'pg'
import { groupedWrites } from '../metrics.ts'
import { batch } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { isFaultOfValue, OutcomeUnknown } from '../postgres/errors.ts'

export interface GroupedWrite<Item> {
  /** The name under which each connection prepares the statement. */
  name: string
  /** One statement for any number of items, which gives a row for each, in the order of the items: RETURNING promises none. */
  text: string
  /** Its parameters: the items, as one array for each column. */
  columns: (items: Item[]) => unknown[][]
}

/**
 * Makes one statement and one commit of writes that come together, in the order in which they came. While one statement
 * runs the next group gathers, so an idle service adds no delay. An item that Postgres rejects fails alone.
 *
 * @returns what writes an item and gives its row; it fails as `Database.write` does, and with Overloaded when too many wait
 */
export function groupedWrite<Item, Row extends QueryResultRow>(
  database: Database,
  { name, text, columns }: GroupedWrite<Item>
): (item: Item) => Promise<Row> {
  return batch(
    async (items: Item[]) => {
      groupedWrites.observe({ statement: name }, items.length)
      const rows = await database.write<Row>({ name, text, values: columns(items) })
      if (rows.length < items.length)
        throw new OutcomeUnknown(new Error('Postgres stored fewer rows than it was given'))
      return rows
    },
    { maxWaiting: 1000, maxSize: 250, isFaultOfItem: isFaultOfValue }
  )
}
