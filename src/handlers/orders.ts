import { orderJson } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import { HttpError, notFound } from '../framework/http/errors.ts'
import { listOperation } from '../framework/lists/lists.ts'
import type { ResponseMemory } from '../framework/lists/response-memory.ts'
import type { Database } from '../framework/postgres/database.ts'
import { limitLockWait, sql } from '../framework/postgres/sql.ts'
import { rowReader } from '../framework/rows/row-reader.ts'

const deleteOpenOrder = sql`
  DELETE FROM orders
  WHERE id = $1
    AND NOT complete
    AND (ship_date IS NULL OR ship_date > now())
    AND ${limitLockWait}
  RETURNING id
`

const ordersById = sql`
  SELECT *
  FROM orders
  WHERE orders.id = input.id
`

/** The operations on orders. */
export function orderHandlers(database: Database, memory: ResponseMemory) {
  const cancel = database.prepare('cancelOrder', deleteOpenOrder)

  const readOrder = rowReader(database, {
    name: 'cancelOrder-read',
    inputTypes: { id: 'bigint' },
    statement: ordersById,
    json: orderJson
  })

  return {
    listOrders: listOperation(database, memory, {
      name: 'listOrders',
      table: 'orders',
      json: orderJson
    }),

    cancelOrder: async ({ params: { orderId: id } }, reply) => {
      const cancelled = await database.writeAlone({ ...cancel, values: [id] })
      if (cancelled.length > 0) return reply.code(204).send()

      // Only a second statement sees the commit that the first one waited for.
      const order = await readOrder({ id })
      if (order === undefined) throw notFound('order', id)

      throw orderNotCancellable()
    }
  } satisfies Partial<Operations>
}

function orderNotCancellable(): HttpError {
  return new HttpError(
    409,
    'order_not_cancellable',
    'The order cannot be cancelled, ' +
      'because it is complete or its shipDate is past'
  )
}
