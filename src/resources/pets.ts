import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { badRequest, HttpError } from '../http/errors.ts'
import { type Database, givenRows } from '../postgres/database.ts'
import { createHandler } from '../creates/grouped-create.ts'
import { idBefore, nextPage } from '../lists/paging.ts'
import type { ResponseMemory } from '../lists/response-memory.ts'
import { sharedRead } from '../lists/shared-read.ts'

/** The privileges that the statements below need, beside those of categories. */
export const petPrivileges = {
  pets: 'SELECT, INSERT',
  'SEQUENCE pets_id_seq': 'USAGE'
}

/** A pet as JSON. */
const json = `'{"id":' || id || ',"name":' || to_json(name) || ',"categoryId":' || category_id || ',"status":"' || status || '"}'`

// One of the two branches is empty; each uses its own index. With `status = asked.status`, PostgreSQL would search the primary
// key even for a rare status. Each branch reads one pet more than the page has, to find whether another page follows.
const pagesOfPets = `
  SELECT convert_to('[' || coalesce(array_to_string(page.pets[:size], ','), '') || ']', 'UTF8') AS pets,
    CASE WHEN cardinality(page.pets) > size THEN ids[size] END AS next
  FROM ${givenRows(['bigint', 'text', 'integer'])} AS asked (after, status, size, place),
    coalesce(after, -9223372036854775808) AS start,
    LATERAL (
      SELECT array_agg(id ORDER BY id) AS ids, array_agg(${json} ORDER BY id) AS pets
      FROM (
        (SELECT * FROM pets WHERE asked.status IS NULL AND id > start ORDER BY id LIMIT size + 1)
        UNION ALL
        (SELECT * FROM pets
          WHERE (status, id) > (asked.status, start) AND status <= asked.status ORDER BY status, id LIMIT size + 1)
      ) AS pet
    ) AS page
  ORDER BY place`

const petsById = `
  SELECT pet.id, name, category_id AS "categoryId", status
  FROM ${givenRows(['bigint'])} AS asked (id, place)
    LEFT JOIN LATERAL (SELECT * FROM pets WHERE pets.id = asked.id LIMIT 1) AS pet ON true ORDER BY place`

/** The operations on pets. */
export function petHandlers(database: Database, memory: ResponseMemory) {
  const readPage = sharedRead<{ pets: Buffer; next: bigint | null }>(
    database,
    'pages-of-pets',
    pagesOfPets
  )
  const readPet = sharedRead<components['schemas']['Pet'] | { id: null }>(
    database,
    'pets-by-id',
    petsById
  )
  return {
    listPets: async ({ query: { limit, status, cursor } }, reply) => {
      const { pets, next } = await readPage([
        idBefore(cursor),
        status ?? null,
        String(limit)
      ])
      memory.reserve(reply.raw, pets.length)
      if (next !== null)
        reply.header(
          'link',
          nextPage({ limit: String(limit), ...(status && { status }) }, next)
        )
      return reply
        .header('content-type', 'application/json; charset=utf-8')
        .code(200)
        .send(pets)
    },
    createPet: createHandler(database, 201, {
      table: 'pets',
      given: { name: 'text', category_id: 'bigint', status: 'text' },
      values: ({ name, categoryId, status }) => [name, categoryId, status],
      // A pet whose category is unknown has no id, and so no JSON. The foreign key alone would reject the whole group.
      rows: `SELECT CASE WHEN categories.id IS NOT NULL THEN nextval('pets_id_seq') END AS id, given.*
        FROM given LEFT JOIN categories ON categories.id = category_id`,
      stored: 'id, name, category_id, status',
      json,
      invalid: ({ categoryId }) =>
        badRequest(
          `body.categoryId must be the id of an existing category, not ${categoryId}`
        )
    }),
    getPet: async ({ params: { petId } }, reply) => {
      const pet = await readPet([String(petId)])
      if (pet.id !== null) return reply.code(200).send(pet)
      throw new HttpError(
        404,
        'not_found',
        `There is no pet with the id ${petId}`
      )
    }
  } satisfies Partial<Operations>
}
