import { newEventColumns } from '../../generated/columns.ts'
import { eventJson } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import { insertOperation } from '../framework/creates/insert-operation.ts'
import { listOperation } from '../framework/lists/lists.ts'
import type { ResponseMemory } from '../framework/lists/response-memory.ts'
import type { Database } from '../framework/postgres/database.ts'

/** The operations on events. */
export function eventHandlers(database: Database, memory: ResponseMemory) {
  return {
    listEvents: listOperation(database, memory, {
      table: 'events',
      json: eventJson
    }),

    createEvent: insertOperation(database, {
      operation: 'createEvent',
      status: 201,
      table: 'events',
      id: `nextval('events_id_seq')`,
      columns: newEventColumns,
      json: eventJson
    })
  } satisfies Operations
}
