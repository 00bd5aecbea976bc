import { orderJson } from '../../generated/json.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import { listOrdersPage } from '../../generated/pages.ts'
import { HttpError, notFound, unavailable } from '../framework/errors.ts'
import { pageHandler } from '../framework/reads/page-handler.ts'
import type { ResponseBuffers } from '../framework/reads/response-buffers.ts'
import type { Database } from '../framework/postgres/database.ts'
import { sql, writeSettings } from '../framework/postgres/sql.ts'

const allOrdersSql = sql`
  SELECT *
  FROM orders
  WHERE id > input.after
`

const isOpenSql = 'NOT complete AND (ship_date IS NULL OR ship_date > now())'

const deleteOpenOrderSql = sql`
  DELETE FROM orders
  WHERE id = $1
    AND ${isOpenSql}
    AND ${writeSettings}
  RETURNING id
`

// This read writes a message to the WAL, so that its commit waits for the
// synchronous standby. Otherwise, a client could get 404 for an order that has
// just been deleted, and after a failover the order would be there again. The
// price: lists are read again after it, as after any commit.
const orderStateSql = sql`
  SELECT
    (
      SELECT ${isOpenSql}
      FROM orders
      WHERE id = $1
    ) AS "isOpen",
    pg_logical_emit_message(true, 'cancelOrder', '')
  WHERE ${writeSettings}
`

/** The operations on orders. */
export function orderHandlers(database: Database, buffers: ResponseBuffers) {
  const cancel = database.prepareSingleRow('cancelOrder', deleteOpenOrderSql)
  const readState = database.prepareSingleRow<{ isOpen: boolean | null }>(
    'cancelOrder-state',
    orderStateSql
  )

  return {
    listOrders: pageHandler(database, buffers, {
      ...listOrdersPage,
      statementName: 'listOrders',
      filterTypes: {},
      select: allOrdersSql,
      json: orderJson
    }),

    cancelOrder: async ({ params: { orderId: id } }, reply) => {
      const cancelled = await cancel([id])
      if (cancelled.length > 0) return reply.code(204).send()

      // The first statement may have waited for a commit that changed the
      // order. Only another statement sees the result.
      const [order] = await readState([id])
      if (order?.isOpen == null) throw notFound('order', id)
      if (order.isOpen) throw unavailable // It was reopened.

      throw new HttpError(
        409,
        'order_not_cancellable',
        'The order cannot be cancelled, ' +
          'because it is complete or its shipDate is past'
      )
    }
  } satisfies Partial<OperationHandlers>
}
