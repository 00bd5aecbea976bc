// The compiler is the test, in `npm run check`. It accepts `accepted`, like the
// handlers of the notes, and rejects the line after each `@ts-expect-error`.
import { creationHandler } from '../../../src/framework/creates/creation-handler.ts'
import { listHandler } from '../../../src/framework/reads/list-handler.ts'
import { pageHandler } from '../../../src/framework/reads/page-handler.ts'
import type { ResponseBuffers } from '../../../src/framework/reads/response-buffers.ts'
import type { RawJson } from '../../../src/framework/openapi/json.ts'
import { sendJson } from '../../../src/framework/openapi/handler.ts'
import type { Database } from '../../../src/framework/postgres/database.ts'
import { sql } from '../../../src/framework/postgres/sql.ts'
import { rowReader } from '../../../src/framework/reads/row-reader.ts'
import {
  newNoteColumns,
  newRemarkColumns
} from '../../support/notes/generated/columns.ts'
import {
  noteJson,
  remarkJson,
  tagJson
} from '../../support/notes/generated/json.ts'
import type { OperationHandlers } from '../../support/notes/generated/operations.ts'
import { listRemarksPage } from '../../support/notes/generated/pages.ts'
import type { components } from '../../support/notes/generated/types.ts'

type Tag = components['schemas']['Tag']

declare const database: Database
declare const buffers: ResponseBuffers
declare const bytes: Buffer
declare const tagText: RawJson<Tag, string>

const note = { id: 1n, name: 'x' }

const list = { statementName: 'x', table: 'x' }
const inserted = { operationId: 'x', table: 'x', newId: '1' }

export const accepted: Partial<OperationHandlers> = {
  // Validation has added the default.
  listRemarks: ({ query }, reply) =>
    reply.header('x-limit', query.limit).code(200).send([])
}

const read = {
  statementName: 'x',
  inputTypes: { id: 'bigint' },
  select: 'SELECT * FROM x WHERE x.id = input.id'
}
const page = {
  ...listRemarksPage,
  statementName: 'x',
  filterTypes: { color: 'text' },
  select: 'SELECT * FROM x WHERE id > input.after'
} as const

const readNote = rowReader(database, { ...read, json: noteJson })
const readTag = rowReader(database, { ...read, json: tagJson })
const remarks = pageHandler(database, buffers, { ...page, json: remarkJson })
const tags = pageHandler(database, buffers, { ...page, json: tagJson })

/** Each handler sends the JSON of a statement for another schema. */
export const handlersOfAnotherSchema: Partial<OperationHandlers>[] = [
  {
    getNote: async (_request, reply) => {
      const tag = await readTag({ id: 1n })
      if (tag === undefined) throw new Error()

      // @ts-expect-error a tag that was read is not a note
      return sendJson(reply, 200, tag)
    }
  },
  {
    // @ts-expect-error a list of tags has no notes
    listNotes: listHandler(database, buffers, { ...list, json: tagJson })
  },
  {
    listRemarks: (request, reply) =>
      // @ts-expect-error a page of tags has no remarks
      tags(request, reply, { color: 'red' })
  },
  {
    // @ts-expect-error an unknown filter
    listRemarks: (request, reply) => remarks(request, reply, { size: 'L' })
  },
  {
    getNote: async (_request, reply) => {
      const found = await readNote({ id: 1n })

      // @ts-expect-error there may be no note
      return sendJson(reply, 200, found)
    }
  }
]

export const handWritten = [
  // @ts-expect-error a statement cannot write the JSON of a schema itself
  sql`UPDATE notes SET name = $2 WHERE id = $1 RETURNING ${noteJson} AS note`,

  // @ts-expect-error an input row without its column
  readNote({})
]

/** Each handler has one fault. */
export const createNote: OperationHandlers['createNote'][] = [
  // @ts-expect-error an undocumented status
  (_request, reply) => reply.code(202).send(note),

  // @ts-expect-error an int64 that is not a bigint
  (_request, reply) => reply.code(201).send({ id: 1, name: 'x' }),

  // @ts-expect-error the JSON of another schema, although it has all properties
  (_request, reply) => reply.code(201).send(tagText),

  // @ts-expect-error JSON of an unknown shape
  (_request, reply) => sendJson(reply, 201, bytes),

  // @ts-expect-error no response
  () => {}
]

const { status, bodyColumns, json } = {
  status: 201,
  bodyColumns: newNoteColumns,
  json: noteJson
} as const

/** Each insert has one fault. */
export const insertsOfNotes: OperationHandlers['createNote'][] = [
  // @ts-expect-error an undocumented status
  creationHandler(database, { ...inserted, status: 202, bodyColumns, json }),

  // @ts-expect-error the JSON of another schema
  creationHandler(database, {
    ...inserted,
    status,
    bodyColumns,
    json: tagJson
  }),

  // @ts-expect-error the columns of another body
  creationHandler(database, {
    ...inserted,
    status,
    bodyColumns: newRemarkColumns,
    json
  })
]
