import type { Operations } from '../../generated/operations.ts'
import type { MessageStore } from './messages-store.ts'

/** The operations on messages. */
export const messageHandlers = (store: MessageStore) =>
  ({
    createMessage: async (request, reply) => reply.code(202).send(await store.create(request.body))
  }) satisfies Partial<Operations>
