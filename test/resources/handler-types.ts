// The compiler is the test, in `npm run check`. It accepts `accepted`, and
// rejects the line after each `@ts-expect-error`.
import type { Readable } from 'node:stream'
import { NewCategory, NewPet } from '../../generated/columns.ts'
import { Category, Pet } from '../../generated/json.ts'
import type { Operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { insertOperation } from '../../src/creates/insert-operation.ts'
import {
  arrayBytes,
  type JsonStream,
  objectBytes
} from '../../src/openapi/json.ts'
import { sendJson } from '../../src/openapi/send-json.ts'
import type { Database } from '../../src/postgres/database.ts'

type Categories = components['schemas']['Category'][]

declare const database: Database
declare const bytes: Buffer
declare const stream: Readable
declare const categories: JsonStream<Categories>

const category = { id: 1n, name: 'x' }

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
