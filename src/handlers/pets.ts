import { newPetColumns } from '../../generated/columns.ts'
import { petJson } from '../../generated/json.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import { listPetsPage } from '../../generated/pages.ts'
import { creationHandler } from '../framework/creates/creation-handler.ts'
import { HttpError, notFound } from '../framework/errors.ts'
import { pageHandler } from '../framework/reads/page-handler.ts'
import type { ResponseBuffers } from '../framework/reads/response-buffers.ts'
import { sendJson } from '../framework/openapi/handler.ts'
import type { Database } from '../framework/postgres/database.ts'
import { sql } from '../framework/postgres/sql.ts'
import { rowReader } from '../framework/reads/row-reader.ts'

const allPetsSql = sql`
  SELECT *
  FROM pets
  WHERE id > input.after
`

// With `WHERE pets.status = input.status`, PostgreSQL would search the primary
// key even for a rare status. These conditions fit the index (status, id).
const petsOfStatusSql = sql`
  SELECT *
  FROM pets
  WHERE (pets.status, id) > (input.status, input.after)
    AND pets.status <= input.status
`

const petsByIdSql = sql`
  SELECT *
  FROM pets
  WHERE pets.id = input.id
`

const unknownCategory = (id: bigint) =>
  new HttpError(
    400,
    'unknown_category',
    `body.categoryId must be the id of an existing category, not ${id}`
  )

/** The operations on pets. */
export function petHandlers(database: Database, buffers: ResponseBuffers) {
  const page = { ...listPetsPage, json: petJson }
  const listAllPets = pageHandler(database, buffers, {
    ...page,
    statementName: 'listPets',
    filterTypes: {},
    select: allPetsSql
  })
  const listPetsByStatus = pageHandler(database, buffers, {
    ...page,
    statementName: 'listPets-by-status',
    filterTypes: { status: 'text' },
    select: petsOfStatusSql,
    order: 'status, id'
  })
  const readPet = rowReader(database, {
    statementName: 'getPet',
    inputTypes: { id: 'bigint' },
    select: petsByIdSql,
    json: petJson
  })

  return {
    listPets: (request, reply) =>
      request.query.status === undefined
        ? listAllPets(request, reply)
        : listPetsByStatus(request, reply, { status: request.query.status }),

    createPet: creationHandler(database, {
      operationId: 'createPet',
      status: 201,
      table: 'pets',
      newId: `nextval('pets_id_seq')`,
      bodyColumns: newPetColumns,
      precheck: {
        sql: 'check_category(category_id)',
        invalid: ({ body }) => unknownCategory(body.categoryId)
      },
      json: petJson,
      location: (id) => `pets/${id}`
    }),

    getPet: async ({ params: { petId } }, reply) => {
      const pet = await readPet({ id: petId })
      if (pet === undefined) throw notFound('pet', petId)
      return sendJson(reply, 200, pet)
    }
  } satisfies Partial<OperationHandlers>
}
