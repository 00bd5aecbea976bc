// The API of the framework's tests. A change of the API of this repository must
// not change them.
import type { Api } from '../../../src/framework/api.ts'
import { insertOperation } from '../../../src/framework/creates/insert-operation.ts'
import { badRequest, notFound } from '../../../src/framework/http/errors.ts'
import { listOperation } from '../../../src/framework/lists/lists.ts'
import { pageOperation } from '../../../src/framework/lists/pages.ts'
import type { ResponseMemory } from '../../../src/framework/lists/response-memory.ts'
import { sendJson } from '../../../src/framework/openapi/handler.ts'
import type { Database } from '../../../src/framework/postgres/database.ts'
import { lockWaitIsLimited, sql } from '../../../src/framework/postgres/sql.ts'
import { rowReader } from '../../../src/framework/rows/row-reader.ts'
import {
  newNoteColumns,
  newRemarkColumns,
  newReplyColumns
} from './generated/columns.ts'
import { noteJson, remarkJson, replyJson } from './generated/json.ts'
import type { Operations } from './generated/operations.ts'

/** Processes with TEST_API=notes serve it: see ../typescript.js. */
export const api: Api = {
  names: { service: 'notes', apiKeyPrefix: 'note_', realm: 'my notes' },
  openapi: new URL('openapi.yaml', import.meta.url),
  handlers,
  measurers: [],
  migrations: new URL('migrations/', import.meta.url)
}

function handlers(database: Database, memory: ResponseMemory) {
  return {
    ...noteHandlers(database, memory),
    ...remarkHandlers(database, memory),
    ...replyHandlers(database, memory)
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
    AND ${lockWaitIsLimited}
  RETURNING id
`

function noteHandlers(database: Database, memory: ResponseMemory) {
  const readNote = rowReader(database, {
    name: 'getNote',
    inputTypes: { id: 'bigint' },
    select: notesById,
    json: noteJson
  })
  const deletion = database.prepare('deleteNote', deleteNoteById)

  return {
    listNotes: listOperation(database, memory, {
      name: 'listNotes',
      table: 'notes',
      json: noteJson
    }),

    createNote: insertOperation(database, {
      operationId: 'createNote',
      status: 201,
      table: 'notes',
      id: `nextval('notes_id_seq')`,
      columns: newNoteColumns,
      json: noteJson
    }),

    getNote: async ({ params: { noteId } }, reply) => {
      const note = await readNote({ id: noteId })

      if (note === undefined) throw notFound('note', noteId)

      return sendJson(reply, 200, note)
    },

    deleteNote: async ({ params: { noteId } }, reply) => {
      const values = [noteId]
      const deleted = await database.writeAlone({ ...deletion, values })
      if (deleted.length === 0) throw notFound('note', noteId)

      return reply.code(204).send()
    }
  } satisfies Partial<Operations>
}

const pagesOfRemarks = sql`
  SELECT *
  FROM remarks
  WHERE id > input.after
  ORDER BY id
  LIMIT input.size + 1
`

const noteObstacle = sql`
  CASE WHEN (SELECT id FROM notes WHERE id = note_id LIMIT 1) IS NULL THEN
    'invalid'
  END
`

function remarkHandlers(database: Database, memory: ResponseMemory) {
  const pages = pageOperation(database, memory, {
    name: 'listRemarks',
    idType: 'uuid',
    filterTypes: {},
    select: pagesOfRemarks,
    json: remarkJson
  })

  return {
    listRemarks: (request, reply) => pages(request, reply, {}),

    createRemark: insertOperation(database, {
      operationId: 'createRemark',
      status: 202,
      table: 'remarks',
      id: 'gen_random_uuid()',
      columns: newRemarkColumns,
      obstacle: {
        sql: noteObstacle,
        invalid: ({ body: { noteId } }) =>
          badRequest(
            `body.noteId must be the id of an existing note, not ${noteId}`
          )
      },
      json: remarkJson
    })
  } satisfies Partial<Operations>
}

const pagesOfReplies = sql`
  SELECT *
  FROM replies
  WHERE replies.note_id = input.note_id
    AND replies.owner = input.owner
    AND replies.pinned IS NOT DISTINCT FROM input.pinned
    AND coalesce(replies.text = input.text, true)
    AND id > input.after
  ORDER BY id
  LIMIT input.size + 1
`

function replyHandlers(database: Database, memory: ResponseMemory) {
  const pages = pageOperation(database, memory, {
    name: 'listReplies',
    idType: 'bigint',
    filterTypes: {
      note_id: 'bigint',
      owner: 'bigint',
      pinned: 'boolean',
      text: 'text'
    },
    select: pagesOfReplies,
    json: replyJson
  })

  return {
    listReplies: (request, reply) => {
      const { params, query, apiKeyCheck } = request
      return pages(request, reply, {
        note_id: params.noteId,
        owner: apiKeyCheck?.root,
        pinned: query.pinned,
        text: query.text
      })
    },

    createReply: insertOperation(database, {
      operationId: 'createReply',
      status: 201,
      table: 'replies',
      id: `nextval('replies_id_seq')`,
      columns: newReplyColumns,
      fromRequest: [
        {
          column: 'note_id',
          type: 'bigint',
          value: ({ params }) => params.noteId
        },
        {
          column: 'owner',
          type: 'bigint',
          value: ({ apiKeyCheck }) => apiKeyCheck?.root
        }
      ],
      violations: {
        replies_note_id_fkey: ({ params }) => notFound('note', params.noteId)
      },
      json: replyJson
    })
  } satisfies Partial<Operations>
}
