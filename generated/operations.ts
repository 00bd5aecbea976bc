// Written by `npm run generate`. Do not edit.

import type { OperationHandler } from '../src/openapi/operation-handler.ts'
import { notImplemented } from '../src/openapi/not-implemented.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export type OperationHandlers = {
  [Id in keyof operations]: OperationHandler<operations[Id]>
}

/** Respond with 501 until src/handlers has the handler of the operation. */
export const stubs: OperationHandlers = {
  /** GET /categories */
  listCategories: notImplemented,
  /** POST /categories */
  createCategory: notImplemented,
  /** POST /messages */
  createMessage: notImplemented,
  /** GET /pets */
  listPets: notImplemented,
  /** POST /pets */
  createPet: notImplemented,
  /** GET /pets/{petId} */
  getPet: notImplemented,
  /** GET /store/orders */
  listOrders: notImplemented
}
