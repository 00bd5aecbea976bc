import type { Operations } from '../../generated/operations.ts'
import { listHandler } from '../http/list.ts'
import type { ResponseMemory } from '../http/memory.ts'
import type { CategoryStore } from './store.ts'

/** The operations on categories. */
export const categoryHandlers = (store: CategoryStore, memory: ResponseMemory) =>
  ({
    listCategories: listHandler({ page: store.page, cursor: ({ id }) => id }, memory),
    createCategory: async (request, reply) => reply.code(201).send(await store.create(request.body))
  }) satisfies Partial<Operations>
