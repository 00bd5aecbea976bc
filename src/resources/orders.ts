import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { HttpError } from '../http/errors.ts'
import { type Database, isoTime } from '../postgres/database.ts'
import type { ResponseMemory } from '../lists/response-memory.ts'
import { cachedList } from '../lists/cached-list.ts'
import type { RowJson } from '../openapi/json.ts'

/** The privileges that the statements below need. */
export const orderPrivileges = { orders: 'SELECT, DELETE' }

/** An order as JSON, without a shipDate that is null. */
const json = `'{"id":' || id || ',"petId":' || pet_id || ',"quantity":' || quantity
  || coalesce(',"shipDate":"' || ${isoTime('ship_date')} || '"', '') || ',"complete":' || complete || '}'`

const cancelOrder = `
  DELETE FROM orders WHERE id = $1 AND NOT complete AND (ship_date IS NULL OR ship_date > now()) RETURNING id`

/** The operations on orders. */
export function orderHandlers(database: Database, memory: ResponseMemory) {
  return {
    listOrders: cachedList(database, memory, {
      table: 'orders',
      row: json as RowJson<components['schemas']['Order']>
    }),
    cancelOrder: async ({ params: { orderId } }, reply) => {
      const values = [orderId]
      const cancelled = await database.write({
        name: 'cancel-order',
        text: cancelOrder,
        values
      })
      if (cancelled.length > 0) return reply.code(204).send()
      // A separate statement, which sees whether the DELETE waited for a transaction that deleted the order.
      const found = await database.read({
        name: 'order-by-id',
        text: 'SELECT FROM orders WHERE id = $1',
        values
      })
      if (found.length === 0)
        throw new HttpError(
          404,
          'not_found',
          `There is no order with the id ${orderId}`
        )
      const message =
        'The order cannot be cancelled, because it is complete or its shipDate is past'
      throw new HttpError(409, 'order_not_cancellable', message)
    }
  } satisfies Partial<Operations>
}
