// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Handler } from '../../../../src/framework/openapi/handler.ts'
import { notImplemented } from '../../../../src/framework/openapi/handler.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export interface Operations {
  /** GET /toys/{toyId} */
  getToy: Handler<operations['getToy']>
  /** DELETE /toys/{toyId} */
  deleteToy: Handler<operations['deleteToy']>
  /** PATCH /toys/{toyId} */
  updateToy: Handler<operations['updateToy']>
}

/** Handlers that respond with 501, until their operations are implemented. */
export const stubs: Operations = {
  getToy: notImplemented('getToy'),
  deleteToy: notImplemented('deleteToy'),
  updateToy: notImplemented('updateToy'),
}
