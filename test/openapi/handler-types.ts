// The compiler is the test, in `npm run check`: it accepts the first handler, and rejects what follows each comment.
import type { Operations } from '../../generated/operations.ts'
import { createHandler } from '../../src/creates/grouped-create.ts'

declare const database: Parameters<typeof createHandler>[0]
declare const creation: Parameters<typeof createHandler>[2]

const category = { id: 1n, name: 'x' }

export const accepted: Partial<Operations> = {
  createCategory: ({ body }, reply) =>
    reply.code(201).send({ ...category, name: body.name }),
  // Validation has added the defaults.
  listPets: ({ query }, reply) =>
    reply.header('x-limit', query.limit).code(200).send([]),
  createMessage: ({ headers }, reply) => {
    const key: string | undefined = headers['idempotency-key']
    return reply
      .code(202)
      .send({ id: '', message: key ?? '', status: 'queued', createdAt: '' })
  },
  createPet: ({ body }, reply) =>
    reply.code(201).send({ ...body, id: 1n, status: body.status })
}

export const rejected: Partial<Operations>[] = [
  // @ts-expect-error an undocumented status
  { createCategory: (_request, reply) => reply.code(202).send(category) },
  // @ts-expect-error an int64 that is not a bigint
  {
    createCategory: (_request, reply) =>
      reply.code(201).send({ id: 1, name: 'x' })
  },
  // @ts-expect-error a missing property
  { createCategory: (_request, reply) => reply.code(201).send({ id: 1n }) },
  // @ts-expect-error an undocumented property
  {
    createCategory: (_request, reply) =>
      reply.code(201).send({ ...category, color: 'red' })
  },
  // @ts-expect-error no body
  { createCategory: (_request, reply) => reply.code(201).send() },
  // @ts-expect-error an undocumented status of a shared handler
  { createCategory: createHandler(database, 202, creation) },
  // @ts-expect-error a response without a status
  { createCategory: () => category },
  // @ts-expect-error no response
  { createCategory: () => {} }
]
