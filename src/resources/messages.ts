import { v7 as timeOrderedUuid } from 'uuid'
import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { type Database, isoTime } from '../postgres/database.ts'
import { groupedWrite } from '../sharing/grouped-write.ts'

type Message = components['schemas']['Message']

/** The privileges that the statement below needs. */
export const messagePrivileges = { messages: 'SELECT, INSERT' }

const createMessages = `
  WITH given AS (
    SELECT id, message, place FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS given (id, message, place)
  ), stored AS (
    INSERT INTO messages (id, message) SELECT id, message FROM given ORDER BY place
    RETURNING id, message, status, created_at
  )
  SELECT stored.id, stored.message, stored.status, ${isoTime('stored.created_at')} AS "createdAt"
  FROM given JOIN stored USING (id) ORDER BY place`

/** The operations on messages. */
export function messageHandlers(database: Database) {
  const create = groupedWrite<Pick<Message, 'id' | 'message'>, Message>(
    database,
    'create-messages',
    createMessages,
    (messages) => [messages.map(({ id }) => id), messages.map(({ message }) => message)]
  )
  return {
    createMessage: async ({ body: { message } }, reply) =>
      reply.code(202).send(await create({ id: timeOrderedUuid(), message }))
  } satisfies Partial<Operations>
}
