// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Handler } from '../../../../src/framework/openapi/handler.ts'
import type { operations } from './types.ts'

/** The handler of each operation, by operationId. */
export interface OperationHandlers {
  /** GET /notes */
  listNotes: Handler<operations['listNotes']>
  /** POST /notes */
  createNote: Handler<operations['createNote']>
  /** GET /notes/{noteId} */
  getNote: Handler<operations['getNote']>
  /** DELETE /notes/{noteId} */
  deleteNote: Handler<operations['deleteNote']>
  /** POST /notes/{noteId}/replies */
  createReply: Handler<operations['createReply']>
  /** GET /remarks */
  listRemarks: Handler<operations['listRemarks']>
  /** POST /remarks */
  createRemark: Handler<operations['createRemark']>
  /** GET /tags */
  listTags: Handler<operations['listTags']>
  /** POST /tags */
  createTag: Handler<operations['createTag']>
}
