// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { DocumentedPage } from '../../../../src/framework/openapi/json.ts'

/** The pages of listRemarks. */
export const listRemarksPage: DocumentedPage = {
  idType: 'uuid',
  maxSize: 100
}
