// The API of the framework's tests. A change of the API of this repository must
// not change them.
import type { Api } from '../../../src/api.ts'
import type { Config } from '../../../src/config.ts'
import { insertOperation } from '../../../src/creates/insert-operation.ts'
import { HttpError } from '../../../src/http/errors.ts'
import { listOperation } from '../../../src/lists/list-operation.ts'
import { ResponseMemory } from '../../../src/lists/response-memory.ts'
import { sharedRead } from '../../../src/lists/shared-read.ts'
import { objectBytes } from '../../../src/openapi/json.ts'
import { sendJson } from '../../../src/openapi/send-json.ts'
import type { Database } from '../../../src/postgres/database.ts'
import { inputRows, sql } from '../../../src/postgres/sql.ts'
import { NewNote } from './generated/columns.ts'
import { Note } from './generated/json.ts'
import { type Operations, stubs } from './generated/operations.ts'

/** Processes with TEST_API=notes serve it: see ../typescript.js. */
export const api: Api = {
  openapi: new URL('openapi.yaml', import.meta.url),
  handlers: noteHandlers,
  migrations: new URL('./', import.meta.url),
  privileges: {
    notes: 'SELECT, INSERT',
    'SEQUENCE notes_id_seq': 'USAGE'
  }
}

const notesById = sql`
  SELECT found.note
  FROM ${inputRows({ id: 'bigint' })}
  LEFT JOIN LATERAL (
    SELECT
      ${Note}
      AS note
    FROM notes
    WHERE notes.id = input.id
    LIMIT 1
  ) AS found ON true
  ORDER BY ordinal
`

function noteHandlers(database: Database, config: Config): Operations {
  const memory = new ResponseMemory(
    config.MAX_RESPONSE_BUFFER_BYTES,
    config.SEND_TIMEOUT_MS
  )
  const readNote = sharedRead<{ note: string | null }>(
    database,
    'notes-by-id',
    notesById
  )

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
      const { note } = await readNote([String(noteId)])

      if (note === null)
        throw new HttpError(404, 'not_found', 'There is no such note')

      return sendJson(reply, 200, objectBytes(Note, note))
    }
  }
}
