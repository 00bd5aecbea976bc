// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { DocumentedPage } from '../src/framework/openapi/json.ts'

/** The pages of listPets. */
export const listPetsPage: DocumentedPage = {
  idType: 'bigint',
  maxSize: 100
}

/** The pages of listOrders. */
export const listOrdersPage: DocumentedPage = {
  idType: 'bigint',
  maxSize: 100
}
