import { v7 as timeOrderedUuid } from 'uuid'
import { NewMessage } from '../../generated/columns.ts'
import { Message } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import { insertOperation } from '../creates/insert-operation.ts'
import type { Database } from '../postgres/database.ts'

/** The privileges that the statement below needs. */
export const messagePrivileges = { messages: 'SELECT, INSERT' }

/** The operations on messages. */
export function messageHandlers(database: Database) {
  return {
    createMessage: insertOperation(database, {
      status: 202,
      table: 'messages',
      fromService: { id: { type: 'uuid', value: timeOrderedUuid } },
      body: NewMessage,
      fromDatabase: { status: `'queued'`, created_at: 'now()::timestamptz(3)' },
      row: Message
    })
  } satisfies Partial<Operations>
}
