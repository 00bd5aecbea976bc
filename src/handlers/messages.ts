import { newMessageColumns } from '../../generated/columns.ts'
import { messageJson } from '../../generated/json.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import { createHandler } from '../framework/creates/create-handler.ts'
import type { Database } from '../framework/postgres/database.ts'
import { measurer } from '../framework/tasks.ts'
import { sql } from '../framework/postgres/sql.ts'

/** The operations on messages. */
export function messageHandlers(database: Database) {
  return {
    createMessage: createHandler(database, {
      operationId: 'createMessage',
      status: 202,
      table: 'messages',
      newId: 'time_ordered_uuid()',
      bodyColumns: newMessageColumns,
      json: messageJson
    })
  } satisfies Partial<OperationHandlers>
}

/** PostgreSQL reads the index of queued messages by id, and stops at 10,000. */
const queueStateSql = sql`
  SELECT
    count(*)::integer AS queued,
    coalesce(
      extract(epoch FROM now() - min(created_at)),
      0
    )::float8 AS "oldestAge"
  FROM (
    SELECT created_at
    FROM messages
    WHERE status = 'queued'
    ORDER BY id
    LIMIT 10000
  ) AS oldest
`

/** Measures the queue of messages. */
export const queueMeasurer = measurer(
  'queue-of-messages',
  queueStateSql,
  (metrics) => {
    const queued = metrics.gauge(
      'messages_queued',
      'Messages that wait for a consumer, counted up to 10000'
    )
    const oldestAge = metrics.gauge(
      'messages_oldest_queued_seconds',
      'Age of the oldest message that waits for a consumer; 0 without one'
    )

    return (row: { queued: number; oldestAge: number }) => {
      queued.set(row.queued)
      oldestAge.set(row.oldestAge)
    }
  }
)
