// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Handler } from '../src/openapi/handler.ts'
import { notImplemented } from '../src/openapi/handler.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export interface Operations {
  /** GET /categories */
  listCategories: Handler<operations['listCategories']>
  /** POST /categories */
  createCategory: Handler<operations['createCategory']>
  /** POST /messages */
  createMessage: Handler<operations['createMessage']>
}

/** A handler of each operation that responds with 501, until it is implemented. */
export const stubs: Operations = {
  listCategories: notImplemented('listCategories'),
  createCategory: notImplemented('createCategory'),
  createMessage: notImplemented('createMessage'),
}
