// The compiler is the test, in `npm run check`. It accepts `accepted`, and
// rejects the line after each `@ts-expect-error`.
import type { Readable } from 'node:stream'
import { NewCategory, NewPet } from '../../generated/columns.ts'
import { Category, Pet } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { insertOperation } from '../../src/creates/insert-operation.ts'
import { onViolation } from '../../src/openapi/constraints.ts'
import { readPage } from '../../src/lists/page.ts'
import {
  arrayBytes,
  type JsonStream,
  objectBytes
} from '../../src/openapi/json.ts'
import { sendJson } from '../../src/openapi/send-json.ts'
import type { Database } from '../../src/postgres/database.ts'
import { sql } from '../../src/postgres/sql.ts'
import type { Implemented } from '../../src/resources/index.ts'
import { readRow } from '../../src/rows/read-row.ts'
import { writeRow } from '../../src/rows/write-row.ts'

type Categories = components['schemas']['Category'][]

declare const database: Database
declare const bytes: Buffer
declare const stream: Readable
declare const categories: JsonStream<Categories>

const category = { id: 1n, name: 'x' }

const notFound = { code: 'not_found', message: 'x', status: 404 }

const inserted = { table: 'x', fromDatabase: {} }

export const accepted: Partial<Operations> = {
  createCategory: ({ body }, reply) =>
    reply.code(201).send({ ...category, name: body.name }),

  // Validation has added the defaults.
  listPets: ({ query }, reply) =>
    reply.header('x-limit', query.limit).code(200).send([]),

  createMessage: ({ headers }, reply) => {
    const key: string | undefined = headers['idempotency-key']
    const message = { id: '', message: key ?? '' }

    return reply.code(202).send({ ...message, status: 'queued', createdAt: '' })
  },

  createPet: ({ body }, reply) =>
    reply.code(201).send({ ...body, id: 1n, status: body.status }),

  getPet: (_request, reply) => sendJson(reply, 200, objectBytes(Pet, '{}')),

  listCategories: (_request, reply) => sendJson(reply, 200, categories)
}

export const acceptedInsert: Operations['createCategory'] = insertOperation(
  database,
  { ...inserted, status: 201, body: NewCategory, row: Category }
)

const conflict = { status: 409, code: 'x', message: 'x' } as const
const gone = { status: 410, code: 'x', message: 'x' } as const

export const acceptedViolations: Partial<Operations> = {
  createCategory: onViolation(
    {
      categories_name_key: conflict,
      name_length: { ...conflict, status: 400 }
    },
    acceptedInsert
  ),

  cancelOrder: onViolation(
    { items_order_id_fkey: conflict },
    ({ params }, reply) => {
      const id: bigint = params.orderId

      return reply.header('x-id', String(id)).code(204).send()
    }
  )
}

export const rejectedViolations: Partial<Operations> = {
  // @ts-expect-error an undocumented status of an insert
  createCategory: onViolation({ categories_name_key: gone }, acceptedInsert),

  // @ts-expect-error an undocumented status beside a documented one
  createMessage: onViolation({ a: conflict, b: gone }, (_request, reply) =>
    reply
      .code(202)
      .send({ id: '', message: '', status: 'queued', createdAt: '' })
  ),

  // @ts-expect-error an undocumented status
  getPet: onViolation({ pets_category_id_fkey: conflict }, (_request, reply) =>
    sendJson(reply, 200, objectBytes(Pet, '{}'))
  )
}
const write = { name: 'x', statement: 'UPDATE x RETURNING *' }
const read = {
  name: 'x',
  lookupTypes: { id: 'bigint' },
  statement: 'SELECT * FROM x WHERE x.id = input.id'
}
const page = {
  ...read,
  lookupTypes: { after: 'bigint', size: 'integer' }
}

const readPet = readRow(database, { ...read, row: Pet })
const readCategory = readRow(database, { ...read, row: Category })
const readPets = readPage(database, { ...page, row: Pet })
const readCategories = readPage(database, { ...page, row: Category })
const writePet = writeRow(database, { ...write, row: Pet })
const writeCategory = writeRow(database, { ...write, row: Category })

export const acceptedStatements: Partial<Operations> = {
  getPet: async ({ params: { petId } }, reply) => {
    const pet = await readPet({ id: petId })

    if (pet === undefined) return reply.code(404).send(notFound)

    return sendJson(reply, 200, pet)
  },

  createCategory: async (_request, reply) => {
    const written = await writeCategory([])
    if (written === undefined) throw new Error()

    return sendJson(reply, 201, written)
  },

  listPets: async (_request, reply) => {
    const { items } = await readPets({ after: 1n, size: 2 })

    return sendJson(reply, 200, items)
  }
}

/** Each handler sends the JSON of a statement for another schema. */
export const ofAnotherSchema: Partial<Operations>[] = [
  {
    getPet: async (_request, reply) => {
      const found = await readCategory({ id: 1n })
      if (found === undefined) throw new Error()

      // @ts-expect-error a category that was read is no pet
      return sendJson(reply, 200, found)
    }
  },
  {
    createCategory: async (_request, reply) => {
      const pet = await writePet([])
      if (pet === undefined) throw new Error()

      // @ts-expect-error a pet that was written is no category
      return sendJson(reply, 201, pet)
    }
  },
  {
    listPets: async (_request, reply) => {
      const { items } = await readCategories({ after: 1n, size: 2 })

      // @ts-expect-error a page of categories has no pets
      return sendJson(reply, 200, items)
    }
  },
  {
    getPet: async (_request, reply) => {
      const pet = await readPet({ id: 1n })

      // @ts-expect-error there may be no pet
      return sendJson(reply, 200, pet)
    }
  }
]

export const handWritten = [
  // @ts-expect-error a statement cannot write the JSON of a schema itself
  sql`UPDATE pets SET name = $2 WHERE id = $1 RETURNING ${Pet} AS pet`,

  // @ts-expect-error a lookup without its column
  readPet({}),

  // @ts-expect-error a lookup by another column
  readPet({ name: 'x' })
]

declare const withoutGetPet: Omit<Implemented, 'getPet'>

// @ts-expect-error the handler of getPet is lost
export const incomplete: Implemented = withoutGetPet

/** Each handler has one fault. */
export const createCategory: Operations['createCategory'][] = [
  // @ts-expect-error an undocumented status
  (_request, reply) => reply.code(202).send(category),

  // @ts-expect-error an int64 that is not a bigint
  (_request, reply) => reply.code(201).send({ id: 1, name: 'x' }),

  // @ts-expect-error a missing property
  (_request, reply) => reply.code(201).send({ id: 1n }),

  // @ts-expect-error an undocumented property
  (_request, reply) => reply.code(201).send({ ...category, color: 'red' }),

  // @ts-expect-error no body
  (_request, reply) => reply.code(201).send(),

  // @ts-expect-error bytes of an unknown shape
  (_request, reply) => reply.code(201).send(bytes),

  // @ts-expect-error a stream of an unknown shape
  (_request, reply) => reply.code(201).send(stream),

  // @ts-expect-error the JSON of another schema, although it has all properties
  (_request, reply) => reply.code(201).send(objectBytes(Pet, '{}')),

  // @ts-expect-error an array in place of an object
  (_request, reply) => reply.code(201).send(arrayBytes(Category, bytes)),

  // @ts-expect-error the same, sent as JSON
  (_request, reply) => sendJson(reply, 201, objectBytes(Pet, '{}')),

  // @ts-expect-error JSON with an undocumented status
  (_request, reply) => sendJson(reply, 202, objectBytes(Category, '{}')),

  // @ts-expect-error JSON of an unknown shape
  (_request, reply) => sendJson(reply, 201, bytes),

  // @ts-expect-error a stream in place of an object
  (_request, reply) => sendJson(reply, 201, categories),

  // @ts-expect-error a response without a status
  () => category,

  // @ts-expect-error no response
  () => {}
]

const { status, body, row } = {
  status: 201,
  body: NewCategory,
  row: Category
} as const

/** Each insert has one fault. */
export const insertsOfCategories: Operations['createCategory'][] = [
  // @ts-expect-error an undocumented status
  insertOperation(database, { ...inserted, status: 202, body, row }),

  // @ts-expect-error the JSON of another schema
  insertOperation(database, { ...inserted, status, body, row: Pet }),

  // @ts-expect-error an SQL expression that is not from the generator
  insertOperation(database, { ...inserted, status, body, row: `'{}'` }),

  // @ts-expect-error the columns of another body
  insertOperation(database, { ...inserted, status, body: NewPet, row })
]

export const listCategories: Operations['listCategories'][] = [
  // @ts-expect-error items of another schema
  (_request, reply) => reply.code(200).send(arrayBytes(Pet, bytes)),

  // @ts-expect-error an item in place of an array
  (_request, reply) => reply.code(200).send(objectBytes(Category, '{}'))
]
