import type { OperationHandlers } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { makeCreateHandler } from '../creates/create-handler.ts'
import { HttpError, notFound } from '../errors.ts'
import type { SerializedJson } from '../openapi/operation-handler.ts'
import type { Database } from '../postgres/database.ts'
import { jsonSql } from '../postgres/json-sql.ts'
import { rawSql } from '../postgres/sql.ts'
import { makePageHandler } from '../reads/page-handler.ts'
import { makeReadRow } from '../reads/row-reader.ts'

type Schemas = components['schemas']
type Pet = Schemas['Pet']

const petJsonSql = jsonSql<Pet>({
  id: 'id',
  name: 'name',
  categoryId: 'category_id',
  status: 'status'
})

const getPetSql = rawSql`
  SELECT id AS lookup_value, ${petJsonSql} AS json
  FROM pets
  WHERE id = ANY ($1)
`

const listPetsSql = rawSql`
  SELECT id, ${petJsonSql} AS json
  FROM pets
  WHERE id > $1
  ORDER BY id
  LIMIT $2
`

// These conditions mean `status = $3 AND id > $1`, for which PostgreSQL could read
// the primary key, past all other pets. They fit only the index (status, id).
const listPetsByStatusSql = rawSql`
  SELECT id, ${petJsonSql} AS json
  FROM pets
  WHERE (status, id) > ($3, $1)
    AND status <= $3
  ORDER BY status, id
  LIMIT $2
`

const unknownCategory = ({ categoryId }: Schemas['NewPet']) =>
  new HttpError(
    400,
    'unknown_category',
    `body.categoryId must be the id of an existing category, not ${categoryId}`
  )

/** The operations on pets. */
export function createPetsHandlers(database: Database) {
  const unfilteredPage = makePageHandler<Pet>(
    database,
    database.defineStatement('listPets', listPetsSql, { concurrency: 4 })
  )
  const pageByStatus = makePageHandler<Pet>(
    database,
    database.defineStatement('listPetsByStatus', listPetsByStatusSql, {
      concurrency: 2
    })
  )
  const readPet = makeReadRow<
    number,
    { lookup_value: number; json: SerializedJson<Pet> }
  >(database, database.defineStatement('getPet', getPetSql, { concurrency: 2 }))

  return {
    listPets: (request, reply) =>
      request.query.status === undefined
        ? unfilteredPage(request, reply)
        : pageByStatus(request, reply),

    createPet: makeCreateHandler<Schemas['NewPet'], Pet>(database, {
      operationId: 'createPet',
      table: 'pets',
      newIdSql: `nextval('pets_id_seq')`,
      bodyColumns: {
        name: ['name', 'text'],
        categoryId: ['category_id', 'bigint'],
        status: ['status', 'text']
      },
      rowJsonSql: petJsonSql,
      rejectionSql: 'try_lock_category(category_id)',
      whenReferenceUnknown: unknownCategory
    }),

    getPet: async ({ params: { petId } }) => {
      const pet = await readPet(petId)
      if (pet === undefined) throw notFound('pet', petId)
      return pet.json
    }
  } satisfies Partial<OperationHandlers>
}
