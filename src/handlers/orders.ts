import type { OperationHandlers } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import type { Database } from '../postgres/database.ts'
import { jsonSql, utcTimeSql } from '../postgres/json-sql.ts'
import { rawSql } from '../postgres/sql.ts'
import { makePageHandler } from '../reads/page-handler.ts'

type Order = components['schemas']['Order']

const orderJsonSql = jsonSql<Order>({
  id: 'id',
  petId: 'pet_id',
  quantity: 'quantity',
  shipDate: utcTimeSql('ship_date'),
  complete: 'complete'
})

const listOrdersSql = rawSql`
  SELECT id, ${orderJsonSql} AS json
  FROM orders
  WHERE id > $1
  ORDER BY id
  LIMIT $2
`

/** The operations on orders. */
export const createOrdersHandlers = (database: Database) =>
  ({
    listOrders: makePageHandler<Order>(
      database,
      database.defineStatement('listOrders', listOrdersSql, { concurrency: 2 })
    )
  }) satisfies Partial<OperationHandlers>
