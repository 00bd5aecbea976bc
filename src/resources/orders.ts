import { Order } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import { HttpError } from '../http/errors.ts'
import { listOperation } from '../lists/list-operation.ts'
import type { ResponseMemory } from '../lists/response-memory.ts'
import type { Database } from '../postgres/database.ts'
import { sql } from '../postgres/sql.ts'

/** The privileges that the statements below need. */
export const orderPrivileges = { orders: 'SELECT, DELETE' }

const cancelOrder = sql`
  DELETE FROM orders
  WHERE id = $1
    AND NOT complete
    AND (ship_date IS NULL OR ship_date > now())
  RETURNING id
`

const orderById = sql`
  SELECT
  FROM orders
  WHERE id = $1
`

/** The operations on orders. */
export function orderHandlers(database: Database, memory: ResponseMemory) {
  async function cancel(id: bigint): Promise<boolean> {
    const cancelled = await database.write({
      name: 'cancel-order',
      text: cancelOrder,
      values: [id]
    })

    return cancelled.length > 0
  }

  /**
   * A second statement decides between 404 and 409: the DELETE itself would not
   * see the commit that it has waited for.
   */
  async function exists(id: bigint): Promise<boolean> {
    const found = await database.read({
      name: 'order-by-id',
      text: orderById,
      values: [id]
    })

    return found.length > 0
  }

  return {
    listOrders: listOperation(database, memory, {
      table: 'orders',
      row: Order
    }),

    cancelOrder: async ({ params: { orderId } }, reply) => {
      if (await cancel(orderId)) return reply.code(204).send()
      if (await exists(orderId)) throw orderNotCancellable()

      throw orderNotFound(orderId)
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

function orderNotFound(id: bigint): HttpError {
  return new HttpError(404, 'not_found', `There is no order with the id ${id}`)
}
