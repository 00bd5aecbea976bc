import { orderJson } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import { HttpError, notFound } from '../framework/http/errors.ts'
import { listOperation } from '../framework/lists/lists.ts'
import type { ResponseMemory } from '../framework/lists/response-memory.ts'
import type { Database } from '../framework/postgres/database.ts'
import { Unavailable } from '../framework/postgres/failures.ts'
import { lockWaitIsLimited, sql } from '../framework/postgres/sql.ts'

const isOpen = 'NOT complete AND (ship_date IS NULL OR ship_date > now())'

const deleteOpenOrder = sql`
  DELETE FROM orders
  WHERE id = $1
    AND ${isOpen}
    AND ${lockWaitIsLimited}
  RETURNING id
`

const orderState = sql`
  SELECT ${isOpen} AS "isOpen"
  FROM orders
  WHERE id = $1
`

/** The operations on orders. */
export function orderHandlers(database: Database, memory: ResponseMemory) {
  const cancel = database.prepare('cancelOrder', deleteOpenOrder)

  const readState = database.prepare('cancelOrder-read', orderState)

  return {
    listOrders: listOperation(database, memory, {
      name: 'listOrders',
      table: 'orders',
      json: orderJson
    }),

    cancelOrder: async ({ params: { orderId: id } }, reply) => {
      const values = [id]
      const cancelled = await database.writeAlone({ ...cancel, values })
      if (cancelled.length > 0) return reply.code(204).send()

      // Only a second statement sees the commit that the first one waited for.
      const query = { ...readState, values }
      const [order] = await database.read<{ isOpen: boolean }>(query)
      if (order === undefined) throw notFound('order', id)
      if (order.isOpen) throw new Unavailable(new Error('it was reopened'))

      throw new HttpError(
        409,
        'order_not_cancellable',
        'The order cannot be cancelled, ' +
          'because it is complete or its shipDate is past'
      )
    }
  } satisfies Partial<Operations>
}
