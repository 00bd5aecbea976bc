import { v7 as timeOrderedUuid } from 'uuid'
import type { Operations } from '../../generated/operations.ts'
import { type Database, isoTime } from '../postgres/database.ts'
import { createHandler } from '../creates/grouped-create.ts'

/** The privileges that the statement below needs. */
export const messagePrivileges = { messages: 'SELECT, INSERT' }

/** The operations on messages. */
export function messageHandlers(database: Database) {
  return {
    createMessage: createHandler(database, 202, {
      table: 'messages',
      given: { id: 'uuid', message: 'text' },
      values: ({ message }) => [timeOrderedUuid(), message],
      rows: "SELECT *, 'queued' AS status, now()::timestamptz(3) AS created_at FROM given",
      stored: 'id, message, status, created_at',
      json: `'{"id":"' || id || '","message":' || to_json(message) || ',"status":"' || status
        || '","createdAt":"' || ${isoTime('created_at')} || '"}'`
    })
  } satisfies Partial<Operations>
}
