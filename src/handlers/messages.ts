import { newMessageColumns } from '../../generated/columns.ts'
import { messageJson } from '../../generated/json.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import { creationHandler } from '../framework/creates/creation-handler.ts'
import type { Database } from '../framework/postgres/database.ts'
import { measuredGauge } from '../framework/postgres/measured-gauge.ts'
import { sql } from '../framework/postgres/sql.ts'

/** The age of the oldest of 10,000 messages in the order of the queue. */
const oldestQueuedSql = sql`
  SELECT
    coalesce(
      extract(epoch FROM now() - min(created_at)),
      0
    )::float8 AS value
  FROM (
    SELECT created_at
    FROM messages
    WHERE status = 'queued'
    ORDER BY id
    LIMIT 10000
  ) AS oldest
`

/** The operations on messages. */
export function messageHandlers(database: Database) {
  measuredGauge(database, {
    name: 'messages_oldest_queued_seconds',
    help: 'Age of the oldest message that waits for a consumer; 0 without one',
    text: oldestQueuedSql
  })

  return {
    createMessage: creationHandler(database, {
      operationId: 'createMessage',
      status: 202,
      table: 'messages',
      newId: 'time_ordered_uuid()',
      bodyColumns: newMessageColumns,
      json: messageJson
    })
  } satisfies Partial<OperationHandlers>
}
