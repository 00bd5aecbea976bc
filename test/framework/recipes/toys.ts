// The recipes of CONTRIBUTING.md: one row by id, PATCH and DELETE, written like
// a file of src/handlers. toys.test.ts runs them.
import { HttpError, notFound } from '../../../src/framework/http/errors.ts'
import { sendJson } from '../../../src/framework/openapi/send-json.ts'
import type { Database } from '../../../src/framework/postgres/database.ts'
import { sql } from '../../../src/framework/postgres/sql.ts'
import { assignments, changesOf } from '../../../src/framework/rows/patch.ts'
import { rowReader } from '../../../src/framework/rows/row-reader.ts'
import {
  rowDeleter,
  rowWriter
} from '../../../src/framework/rows/row-writer.ts'
import { ToyChanges } from './generated/columns.ts'
import { Toy } from './generated/json.ts'
import type { Operations } from './generated/operations.ts'

const toysById = sql`
  SELECT *
  FROM toys
  WHERE toys.id = input.id
`

const updateToy = sql`
  UPDATE toys
  SET ${assignments('toys', ToyChanges, '$2')}
  WHERE id = $1
  RETURNING *
`

const deleteToy = sql`
  DELETE FROM toys
  WHERE id = $1
    AND NOT is_sold
  RETURNING id
`

/** The operations on toys. */
export function toyHandlers(database: Database) {
  const statements = toyStatements(database)

  return {
    getToy: async ({ params: { toyId: id } }, reply) => {
      const toy = await statements.read({ id })
      if (toy === undefined) throw notFound('toy', id)

      return sendJson(reply, 200, toy)
    },

    updateToy: async ({ params: { toyId: id }, body }, reply) => {
      const toy = await statements.update([id, changesOf(ToyChanges, body)])
      if (toy === undefined) throw notFound('toy', id)

      return sendJson(reply, 200, toy)
    },

    deleteToy: async ({ params: { toyId: id } }, reply) => {
      if (await statements.delete([id])) return reply.code(204).send()

      // Only a second statement sees the commit that the first one waited for.
      const toy = await statements.read({ id })
      if (toy === undefined) throw notFound('toy', id)

      throw new HttpError(409, 'toy_sold', 'The toy is sold')
    }
  } satisfies Partial<Operations>
}

function toyStatements(database: Database) {
  return {
    read: rowReader(database, {
      name: 'toys-by-id',
      inputTypes: { id: 'uuid' },
      statement: toysById,
      json: Toy
    }),
    update: rowWriter(database, {
      name: 'update-toy',
      statement: updateToy,
      json: Toy
    }),
    delete: rowDeleter(database, {
      name: 'delete-toy',
      statement: deleteToy
    })
  }
}
