import { v7 as timeOrderedUuid } from 'uuid'
import type { components } from '../../generated/service.ts'
import type { Database } from '../database/database.ts'
import { groupedWrite } from '../database/group.ts'

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

interface Row {
  id: string
  message: string
  status: string
  created_at: Date
}

export function messageStore(database: Database): MessageStore {
  const write = groupedWrite<{ id: string; message: string }, Row>(database, {
    name: 'create-messages',
    text: `WITH given AS (
        SELECT id, message, place FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS given (id, message, place)
      ), stored AS (
        INSERT INTO messages (id, message) SELECT id, message FROM given ORDER BY place
        RETURNING id, message, status, created_at
      )
      SELECT stored.id, stored.message, stored.status, stored.created_at
      FROM given JOIN stored USING (id) ORDER BY place`,
    columns: (messages) => [messages.map(({ id }) => id), messages.map(({ message }) => message)]
  })

  return {
    async create({ message }) {
      const { created_at, ...queued } = await write({ id: timeOrderedUuid(), message })
      return { ...queued, createdAt: created_at.toISOString() }
    }
  }
}
