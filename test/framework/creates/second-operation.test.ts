// Two operations that create rows of one table, with bodies of their own.
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { ApiKeyCheck } from '../../../src/framework/keys/key.ts'
import { insertOperation } from '../../../src/framework/creates/insert-operation.ts'
import { createDatabase, openDatabase } from '../../support/database.ts'
import { asHandler } from '../../support/handlers.ts'
import { NewNote } from '../../support/notes/generated/columns.ts'
import { Note } from '../../support/notes/generated/json.ts'

const notes = {
  status: 201,
  table: 'notes',
  fromDatabase: { id: `nextval('notes_id_seq')` },
  body: NewNote,
  json: Note
}

/** A draft has a name only. */
const drafts = {
  ...notes,
  name: 'drafts',
  fromDatabase: {
    ...notes.fromDatabase,
    description: `'draft'`,
    size: 'NULL::bigint',
    due_at: 'NULL::timestamptz'
  },
  body: NewNote.filter(({ property }) => property === 'name')
}

const apiKeyCheck: ApiKeyCheck = {
  state: 'valid',
  id: 1n,
  root: 1n,
  isUseRecorded: true,
  scopes: null
}

/** Serves POST /notes and POST /drafts, on one database. */
async function start(t: Test) {
  const database = openDatabase(t, await createDatabase(t))
  const app = Fastify()
  app.addHook('onRequest', (request, _reply, next) => {
    request.apiKeyCheck = apiKeyCheck
    next()
  })
  app.post('/notes', asHandler(insertOperation(database, notes)))
  app.post('/drafts', asHandler(insertOperation(database, drafts)))

  return async (url: string, headers = {}) => {
    const payload = { name: 'x' }
    const response = await app.inject({ method: 'POST', url, payload, headers })

    return response.json<object>()
  }
}

t.test('each creates rows by its own statement', async (t) => {
  const create = await start(t)

  t.same(await create('/notes'), { id: 1, name: 'x' })
  t.same(await create('/drafts'), { id: 2, name: 'x', description: 'draft' })
})

t.test('two creates of a table may use the same Idempotency-Key', async (t) => {
  const create = await start(t)
  const headers = { 'idempotency-key': 'key' }
  const note = await create('/notes', headers)
  const draft = await create('/drafts', headers)

  t.match(note, { id: 1 })
  t.match(draft, { id: 2, description: 'draft' })
  t.same(await create('/notes', headers), note)
  t.same(await create('/drafts', headers), draft)
})
