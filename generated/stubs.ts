// Generated from openapi.yaml by `npm run generate`. Do not edit.

import { notImplemented } from '../src/openapi/not-implemented.ts'
import type { OperationHandlers } from './operations.ts'

/** Respond with 501 until src/handlers has the handler of the operation. */
export const stubs: OperationHandlers = {
  listCategories: notImplemented,
  createCategory: notImplemented,
  createMessage: notImplemented,
  listPets: notImplemented,
  createPet: notImplemented,
  getPet: notImplemented,
  listOrders: notImplemented
}
