import { v7 as timeOrderedUuid } from 'uuid'
import type { components } from '../../generated/types.ts'
import { type Database, isoTime } from '../postgres/database.ts'
import { groupedWrite } from '../sharing/grouped-write.ts'

type Message = components['schemas']['Message']
type NewMessage = components['schemas']['NewMessage']

/** The messages in Postgres. Its methods fail as `Database` does. */
export interface MessageStore {
  /**
   * Queues a message durably.
   *
   * @throws Overloaded when too many messages wait to be written
   */
  create(message: NewMessage): Promise<Message>
}

export const messagePrivileges = { messages: 'SELECT, INSERT' }

export function messageStore(database: Database): MessageStore {
  const write = groupedWrite<{ id: string; message: string }, Message>(database, {
    name: 'create-messages',
    text: `WITH given AS (
        SELECT id, message, place FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS given (id, message, place)
      ), stored AS (
        INSERT INTO messages (id, message) SELECT id, message FROM given ORDER BY place
        RETURNING id, message, status, created_at
      )
      SELECT stored.id, stored.message, stored.status, ${isoTime('stored.created_at')} AS "createdAt"
      FROM given JOIN stored USING (id) ORDER BY place`,
    columns: (messages) => [messages.map(({ id }) => id), messages.map(({ message }) => message)]
  })

  return {
    create: ({ message }) => write({ id: timeOrderedUuid(), message })
  }
}
