// The API of the framework's tests. A change of the API of this repository must
// not change them.
import type { Api } from '../../../src/framework/api.ts'
import { creationHandler } from '../../../src/framework/creates/creation-handler.ts'
import { badRequest, notFound } from '../../../src/framework/errors.ts'
import { listHandler } from '../../../src/framework/reads/list-handler.ts'
import type { ResponseBuffers } from '../../../src/framework/reads/response-buffers.ts'
import { sendJson } from '../../../src/framework/openapi/handler.ts'
import type { Database } from '../../../src/framework/postgres/database.ts'
import { sql, writeSettings } from '../../../src/framework/postgres/sql.ts'
import { rowReader } from '../../../src/framework/reads/row-reader.ts'
import {
  newNoteColumns,
  newRemarkColumns,
  newReplyColumns
} from './generated/columns.ts'
import { noteJson, remarkJson, replyJson } from './generated/json.ts'
import type { OperationHandlers } from './generated/operations.ts'
import { stubs } from './generated/stubs.ts'

/** Processes with TEST_API=notes serve it: see ../typescript.js. */
export const api: Api = {
  names: { service: 'notes', apiKeyPrefix: 'note_', realm: 'my notes' },
  openapiFile: new URL('openapi.yaml', import.meta.url),
  handlers,
  migrationsFolder: new URL('migrations/', import.meta.url)
}

function handlers(database: Database, buffers: ResponseBuffers) {
  return {
    ...stubs,
    ...noteHandlers(database, buffers),
    ...remarkHandlers(database),
    ...replyHandlers(database)
  }
}

const notesById = sql`
  SELECT *
  FROM notes
  WHERE notes.id = input.id
`

const deleteNoteById = sql`
  DELETE FROM notes
  WHERE id = $1
    AND ${writeSettings}
  RETURNING id
`

function noteHandlers(database: Database, buffers: ResponseBuffers) {
  const readNote = rowReader(database, {
    statementName: 'getNote',
    inputTypes: { id: 'bigint' },
    select: notesById,
    json: noteJson
  })
  const deletion = database.prepareSingleRow('deleteNote', deleteNoteById)

  return {
    listNotes: listHandler(database, buffers, {
      statementName: 'listNotes',
      table: 'notes',
      json: noteJson
    }),

    createNote: creationHandler(database, {
      operationId: 'createNote',
      status: 201,
      table: 'notes',
      newId: `nextval('notes_id_seq')`,
      bodyColumns: newNoteColumns,
      json: noteJson
    }),

    getNote: async ({ params: { noteId } }, reply) => {
      const note = await readNote({ id: noteId })

      if (note === undefined) throw notFound('note', noteId)

      return sendJson(reply, 200, note)
    },

    deleteNote: async ({ params: { noteId } }, reply) => {
      const deleted = await deletion([noteId])
      if (deleted.length === 0) throw notFound('note', noteId)

      return reply.code(204).send()
    }
  } satisfies Partial<OperationHandlers>
}

const notePrecheck = sql`
  CASE WHEN (SELECT id FROM notes WHERE id = note_id LIMIT 1) IS NULL THEN
    'invalid'
  END
`

function remarkHandlers(database: Database) {
  return {
    createRemark: creationHandler(database, {
      operationId: 'createRemark',
      status: 202,
      table: 'remarks',
      newId: 'gen_random_uuid()',
      bodyColumns: newRemarkColumns,
      precheck: {
        sql: notePrecheck,
        invalid: ({ body: { noteId } }) =>
          badRequest(
            `body.noteId must be the id of an existing note, not ${noteId}`
          )
      },
      json: remarkJson
    })
  } satisfies Partial<OperationHandlers>
}

function replyHandlers(database: Database) {
  return {
    createReply: creationHandler(database, {
      operationId: 'createReply',
      status: 201,
      table: 'replies',
      newId: `nextval('replies_id_seq')`,
      bodyColumns: newReplyColumns,
      otherColumns: [
        {
          column: 'note_id',
          type: 'bigint',
          value: ({ params }) => params.noteId
        },
        {
          column: 'owner',
          type: 'bigint',
          value: ({ apiKeyCheck }) => apiKeyCheck?.firstId
        }
      ],
      errorsByConstraint: {
        replies_note_id_fkey: ({ params }) => notFound('note', params.noteId)
      },
      json: replyJson
    })
  } satisfies Partial<OperationHandlers>
}
