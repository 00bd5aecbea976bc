// The API of the framework's tests. A change of the API of this repository must
// not change them.
import type { Api } from '../../../src/api.ts'
import type { Config } from '../../../src/config.ts'
import { insertOperation } from '../../../src/creates/insert-operation.ts'
import { notFound } from '../../../src/http/errors.ts'
import { listOperation } from '../../../src/lists/list-operation.ts'
import { ResponseMemory } from '../../../src/lists/response-memory.ts'
import { sendJson } from '../../../src/openapi/send-json.ts'
import type { Database } from '../../../src/postgres/database.ts'
import { sql } from '../../../src/postgres/sql.ts'
import { readRow } from '../../../src/rows/read-row.ts'
import { deleteRow } from '../../../src/rows/write-row.ts'
import { NewNote } from './generated/columns.ts'
import { Note } from './generated/json.ts'
import { type Operations, stubs } from './generated/operations.ts'

/** Processes with TEST_API=notes serve it: see ../typescript.js. */
export const api: Api = {
  openapi: new URL('openapi.yaml', import.meta.url),
  handlers: noteHandlers,
  migrations: new URL('./', import.meta.url),
  privileges: {
    notes: 'SELECT, INSERT, DELETE',
    'SEQUENCE notes_id_seq': 'USAGE'
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
  RETURNING id
`

function noteHandlers(database: Database, config: Config): Operations {
  const memory = new ResponseMemory(
    config.MAX_RESPONSE_BUFFER_BYTES,
    config.SEND_TIMEOUT_MS
  )
  const readNote = readRow(database, {
    name: 'notes-by-id',
    lookupTypes: { id: 'bigint' },
    statement: notesById,
    row: Note
  })
  const deleteNote = deleteRow(database, {
    name: 'delete-note',
    statement: deleteNoteById
  })

  return {
    ...stubs,

    listNotes: listOperation(database, memory, { table: 'notes', row: Note }),

    createNote: insertOperation(database, {
      status: 201,
      table: 'notes',
      fromDatabase: { id: `nextval('notes_id_seq')` },
      body: NewNote,
      row: Note
    }),

    getNote: async ({ params: { noteId } }, reply) => {
      const note = await readNote({ id: noteId })

      if (note === undefined) throw notFound('note', noteId)

      return sendJson(reply, 200, note)
    },

    deleteNote: async ({ params: { noteId } }, reply) => {
      if (!(await deleteNote([noteId]))) throw notFound('note', noteId)

      return reply.code(204).send()
    }
  }
}
