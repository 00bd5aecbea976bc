import type { Operations } from '../../generated/operations.ts'
import type { CategoryStore } from './store.ts'

/** The operations on categories. */
export const categoryHandlers = (store: CategoryStore) =>
  ({
    listCategories: async (_request, reply) => reply.code(200).send(await store.list()),
    createCategory: async (request, reply) => reply.code(201).send(await store.create(request.body))
  }) satisfies Partial<Operations>
