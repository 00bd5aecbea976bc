// Generated from openapi.yaml by `npm run generate`. Do not edit.

import { notImplemented } from '../../../../src/framework/openapi/not-implemented.ts'
import type { OperationHandlers } from './operations.ts'

/** Respond with 501 until src/handlers has the handler of the operation. */
export const stubs: OperationHandlers = {
  listNotes: notImplemented,
  createNote: notImplemented,
  getNote: notImplemented,
  deleteNote: notImplemented,
  createReply: notImplemented,
  listRemarks: notImplemented,
  createRemark: notImplemented,
  listTags: notImplemented,
  createTag: notImplemented
}
