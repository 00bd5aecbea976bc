// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Handler } from '../src/openapi/handler.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export interface OperationHandlers {
  /** GET /categories */
  listCategories: Handler<operations['listCategories']>
  /** POST /categories */
  createCategory: Handler<operations['createCategory']>
  /** POST /messages */
  createMessage: Handler<operations['createMessage']>
  /** GET /pets */
  listPets: Handler<operations['listPets']>
  /** POST /pets */
  createPet: Handler<operations['createPet']>
  /** GET /pets/{petId} */
  getPet: Handler<operations['getPet']>
  /** GET /store/orders */
  listOrders: Handler<operations['listOrders']>
}
