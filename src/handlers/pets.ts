import { newPetColumns } from '../../generated/columns.ts'
import { petJson } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import { insertOperation } from '../framework/creates/insert-operation.ts'
import { badRequest, notFound } from '../framework/http/errors.ts'
import { pageOperation } from '../framework/lists/pages.ts'
import type { ResponseMemory } from '../framework/lists/response-memory.ts'
import { sendJson } from '../framework/openapi/handler.ts'
import type { Database } from '../framework/postgres/database.ts'
import { sql } from '../framework/postgres/sql.ts'
import { rowReader } from '../framework/rows/row-reader.ts'

const allPets = sql`
  SELECT *
  FROM pets
  WHERE id > input.after
  ORDER BY id
  LIMIT input.size + 1
`

// With `WHERE pets.status = input.status`, PostgreSQL would search the primary
// key even for a rare status. These conditions fit the index (status, id).
const petsOfStatus = sql`
  SELECT *
  FROM pets
  WHERE (pets.status, id) > (input.status, input.after)
    AND pets.status <= input.status
  ORDER BY pets.status, id
  LIMIT input.size + 1
`

const petsById = sql`
  SELECT *
  FROM pets
  WHERE pets.id = input.id
`

const unknownCategory = (id: bigint) =>
  badRequest(
    `body.categoryId must be the id of an existing category, not ${id}`
  )

/** The operations on pets. */
export function petHandlers(database: Database, memory: ResponseMemory) {
  const items = { idType: 'bigint', json: petJson } as const
  const pages = pageOperation(database, memory, {
    ...items,
    name: 'listPets',
    filterTypes: {},
    select: allPets
  })
  const pagesOfStatus = pageOperation(database, memory, {
    ...items,
    name: 'listPets-by-status',
    filterTypes: { status: 'text' },
    select: petsOfStatus
  })
  const readPet = rowReader(database, {
    name: 'getPet',
    inputTypes: { id: 'bigint' },
    select: petsById,
    json: petJson
  })

  return {
    listPets: (request, reply) => {
      const { status } = request.query
      return status === undefined
        ? pages(request, reply, {})
        : pagesOfStatus(request, reply, { status })
    },

    createPet: insertOperation(database, {
      operationId: 'createPet',
      status: 201,
      table: 'pets',
      id: `nextval('pets_id_seq')`,
      columns: newPetColumns,
      obstacle: {
        sql: 'category_obstacle(category_id)',
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
  } satisfies Partial<Operations>
}
