import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { HttpError } from '../http/errors.ts'
import { type Database, isoTime } from '../postgres/database.ts'
import type { ResponseMemory } from '../sharing/response-memory.ts'
import { listHandler, type Page, type PageLimit } from '../sharing/shared-list.ts'

type Order = components['schemas']['Order']

/** The privileges that the statements below need. */
export const orderPrivileges = { orders: 'SELECT, DELETE' }

const pageOfOrders = `
  SELECT CASE WHEN $2 = 1 OR octet_length(items) <= $3 THEN items END AS items, next FROM (
    SELECT
      coalesce(string_agg(',{"id":' || id || ',"petId":' || pet_id || ',"quantity":' || quantity
        || coalesce(',"shipDate":"' || ${isoTime('ship_date')} || '"', '') || ',"complete":' || complete || '}', ''), '') AS items,
      CASE count(*) WHEN $2 THEN max(id)::text END AS next
    FROM (
      SELECT * FROM orders WHERE id > coalesce($1::bigint, -9223372036854775808) ORDER BY id LIMIT $2
    ) AS one
  ) AS page`

const cancelOrder = `
  DELETE FROM orders WHERE id = $1 AND NOT complete AND (ship_date IS NULL OR ship_date > now()) RETURNING id`

/** The operations on orders. */
export function orderHandlers(database: Database, memory: ResponseMemory) {
  async function readPage(after: string | null, { rows, bytes }: PageLimit): Promise<Page> {
    const query = { name: 'page-of-orders', text: pageOfOrders, values: [after, rows, bytes] }
    const [page] = await database.read<Page>(query)
    return page as Page
  }

  return {
    listOrders: listHandler<Order>(readPage, memory),
    cancelOrder: async ({ params: { orderId } }, reply) => {
      const values = [orderId]
      const cancelled = await database.write({ name: 'cancel-order', text: cancelOrder, values })
      if (cancelled.length > 0) return reply.code(204).send()
      // A later statement sees whether another cancellation, for which this one waited, has deleted the order.
      const found = await database.read({ name: 'order-by-id', text: 'SELECT FROM orders WHERE id = $1', values })
      if (found.length === 0) throw new HttpError(404, 'not_found', `There is no order with the id ${orderId}`)
      const message = 'The order cannot be cancelled, because it is complete or its shipDate is past'
      throw new HttpError(409, 'order_not_cancellable', message)
    }
  } satisfies Partial<Operations>
}
