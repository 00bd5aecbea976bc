import type { Operations } from '../../generated/operations.ts'
import { listHandler } from '../sharing/shared-list.ts'
import type { ResponseMemory } from '../sharing/response-memory.ts'
import type { CategoryStore } from './categories-store.ts'

/** The operations on categories. */
export const categoryHandlers = (store: CategoryStore, memory: ResponseMemory) =>
  ({
    listCategories: listHandler({ page: store.page, cursor: ({ id }) => id }, memory),
    createCategory: async (request, reply) => reply.code(201).send(await store.create(request.body))
  }) satisfies Partial<Operations>
