import { NewPet } from '../../generated/columns.ts'
import { Pet } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import type { Check } from '../creates/insert.ts'
import { insertOperation } from '../creates/insert-operation.ts'
import { HttpError } from '../http/errors.ts'
import { idBefore, nextPage } from '../lists/paging.ts'
import type { ResponseMemory } from '../lists/response-memory.ts'
import { sharedRead } from '../lists/shared-read.ts'
import { arrayBytes, objectBytes } from '../openapi/json.ts'
import { sendJson } from '../openapi/send-json.ts'
import type { Database } from '../postgres/database.ts'
import { inputRows, sql } from '../postgres/sql.ts'

/** The privileges that the statements below need, beside those of categories. */
export const petPrivileges = {
  pets: 'SELECT, INSERT',
  'SEQUENCE pets_id_seq': 'USAGE',
  'FUNCTION lock_categories(bigint[])': 'EXECUTE'
}

interface Page {
  /** A JSON array. */
  pets: Buffer
  /** The id before the next page; null after the last page. */
  next: bigint | null
}

/**
 * A page of `input.size` pets. `found` has one pet more if another page
 * follows.
 */
const page = sql`
  convert_to(
    '[' || coalesce(array_to_string(found.pets[:size], ','), '') || ']',
    'UTF8'
  ) AS pets,
  CASE WHEN cardinality(found.pets) > size THEN found.ids[size] END AS next
`

const pagesOfPets = sql`
  SELECT
    ${page}
  FROM ${inputRows({ after: 'bigint', size: 'integer' })}
  CROSS JOIN LATERAL (
    SELECT
      array_agg(id ORDER BY id) AS ids,
      array_agg(
        ${Pet}
        ORDER BY id
      ) AS pets
    FROM (
      SELECT *
      FROM pets
      WHERE id > after
      ORDER BY id
      LIMIT size + 1
    ) AS pet
  ) AS found
  ORDER BY ordinal
`

// With `WHERE pets.status = input.status`, PostgreSQL would search the primary
// key even for a rare status. These conditions fit the index (status, id).
const pagesOfStatus = sql`
  SELECT
    ${page}
  FROM ${inputRows({ status: 'text', after: 'bigint', size: 'integer' })}
  CROSS JOIN LATERAL (
    SELECT
      array_agg(id ORDER BY id) AS ids,
      array_agg(
        ${Pet}
        ORDER BY id
      ) AS pets
    FROM (
      SELECT *
      FROM pets
      WHERE (pets.status, id) > (input.status, after)
        AND pets.status <= input.status
      ORDER BY pets.status, id
      LIMIT size + 1
    ) AS pet
  ) AS found
  ORDER BY ordinal
`

const petsById = sql`
  SELECT found.pet
  FROM ${inputRows({ id: 'bigint' })}
  LEFT JOIN LATERAL (
    SELECT
      ${Pet}
      AS pet
    FROM pets
    WHERE pets.id = input.id
    LIMIT 1
  ) AS found ON true
  ORDER BY ordinal
`

// A category that is locked may be about to be deleted.
const checkCategories = sql`
  SELECT
    input.*,
    CASE
      WHEN locked.id IS NOT NULL THEN NULL
      WHEN category.id IS NOT NULL THEN 'locked'
      ELSE 'invalid'
    END AS obstacle
  FROM input
  LEFT JOIN lock_categories(ARRAY(SELECT category_id FROM input))
    AS locked (id) ON locked.id = category_id
  LEFT JOIN LATERAL (
    SELECT id
    FROM categories
    WHERE id = category_id
    LIMIT 1
  ) AS category ON true
`

/** Precedes the first page. */
const lowestId = '-9223372036854775808'

const categoryExists: Check<{ categoryId: bigint }> = {
  statement: checkCategories,
  message: ({ categoryId }) =>
    'body.categoryId must be the id of an existing category, ' +
    `not ${categoryId}`
}

/** The operations on pets. */
export function petHandlers(database: Database, memory: ResponseMemory) {
  const { readPage, readPageOfStatus, readPet } = petReads(database)

  return {
    listPets: async ({ query: { limit, status, cursor } }, reply) => {
      const after = idBefore(cursor) ?? lowestId
      const size = String(limit)
      const { pets, next } = await (status === undefined
        ? readPage([after, size])
        : readPageOfStatus([status, after, size]))

      memory.reserve(reply.raw, pets.length)

      if (next !== null) {
        const filter = status === undefined ? {} : { status }
        reply.header('link', nextPage({ limit: size, ...filter }, next))
      }

      return sendJson(reply, 200, arrayBytes(Pet, pets))
    },

    createPet: insertOperation(database, {
      status: 201,
      table: 'pets',
      fromDatabase: { id: `nextval('pets_id_seq')` },
      body: NewPet,
      check: categoryExists,
      row: Pet
    }),

    getPet: async ({ params: { petId } }, reply) => {
      const { pet } = await readPet([String(petId)])

      if (pet === null) throw petNotFound(petId)

      return sendJson(reply, 200, objectBytes(Pet, pet))
    }
  } satisfies Partial<Operations>
}

/** Requests that wait at the same time share a statement. */
function petReads(database: Database) {
  return {
    readPage: sharedRead<Page>(database, 'pages-of-pets', pagesOfPets),
    readPageOfStatus: sharedRead<Page>(
      database,
      'pages-of-status',
      pagesOfStatus
    ),
    readPet: sharedRead<{ pet: string | null }>(
      database,
      'pets-by-id',
      petsById
    )
  }
}

function petNotFound(id: bigint): HttpError {
  return new HttpError(404, 'not_found', `There is no pet with the id ${id}`)
}
