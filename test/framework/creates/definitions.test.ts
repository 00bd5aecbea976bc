// Definitions of inserts that are wrong, or that the API of the notes does not
// have.
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { claimOf } from '../../../src/framework/creates/idempotency-key.ts'
import { insertOperation } from '../../../src/framework/creates/insert-operation.ts'
import { sendError } from '../../../src/framework/http/errors.ts'
import type { ApiKeyCheck } from '../../../src/framework/keys/key.ts'
import { Metrics } from '../../../src/framework/metrics.ts'
import { inputTable } from '../../../src/framework/postgres/sql.ts'
import { Statements } from '../../../src/framework/postgres/statements.ts'
import { createDatabase, openDatabase } from '../../support/database.ts'
import { asHandler } from '../../support/handlers.ts'
import { NewNote } from '../../support/notes/generated/columns.ts'
import { Note } from '../../support/notes/generated/json.ts'

const notes = {
  status: 201,
  table: 'notes',
  id: `nextval('notes_id_seq')`,
  body: NewNote,
  json: Note
}
const drafts = { ...notes, name: 'drafts' }

const apiKeyCheck: ApiKeyCheck = {
  state: 'valid',
  id: 1n,
  root: 1n,
  isUseRecorded: true,
  scopes: null
}

/** Serves POST /notes with a check, and POST /drafts, on one database. */
async function start(t: Test, statement: string) {
  const database = openDatabase(t, await createDatabase(t))
  const check = { statement, message: () => 'invalid' }
  const app = Fastify().setErrorHandler(sendError)
  app.addHook('onRequest', (request, _reply, next) => {
    request.apiKeyCheck = apiKeyCheck
    next()
  })
  app.post('/notes', asHandler(insertOperation(database, { ...notes, check })))
  app.post('/drafts', asHandler(insertOperation(database, drafts)))

  return async (url: string, name: string, key?: string) => {
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const request = { url, payload: { name }, headers }
    const response = await app.inject({ method: 'POST', ...request })

    return response.json<{ id?: number; code?: string }>()
  }
}

t.test('two operations may create rows of one table', async (t) => {
  const create = await start(
    t,
    `SELECT input.*, CASE name WHEN 'bad' THEN 'invalid' END AS obstacle
     FROM input`
  )
  for (const key of [undefined, 'key'])
    t.match(await create('/notes', 'bad', key), { code: 'invalid_request' })

  // The same key is another one to another operation.
  for (let sent = 0; sent < 2; sent++) {
    t.same(await create('/notes', 'x', 'key'), { id: 1, name: 'x' })
    t.same(await create('/drafts', 'x', 'key'), { id: 2, name: 'x' })
  }
  const next = await create('/notes', 'x')
  t.match(next, { id: 3 }, 'neither a replay nor a rejected row uses an id')
})

const checks = {
  'drops a row': `WHERE name <> 'a'`,
  'drops a row and repeats another': `
    CROSS JOIN generate_series(1, 2)
    WHERE name <> 'a'`
}

for (const [fault, clause] of Object.entries(checks)) {
  t.test(`a check that ${fault} fails the creates of its group`, async (t) => {
    const check = `SELECT input.*, 'invalid' AS obstacle FROM input ${clause}`
    const create = await start(t, check)
    const responses = await Promise.all([
      create('/notes', 'a'),
      create('/notes', 'b'),
      create('/notes', 'a', 'key'),
      create('/notes', 'b', 'other')
    ])

    // No client gets the response to another one. The rows may be stored.
    for (const response of responses)
      t.match(response, { code: 'outcome_unknown' })
  })
}

const statements = new Statements(new Metrics())
const keyed = { 'idempotency-key': 'key' }

/** The message of each mistake of a developer, and what makes it. */
const mistakes: Record<string, () => unknown> = {
  'the Idempotency-Key of x needs an API key': () =>
    claimOf({ headers: keyed, apiKeyCheck: undefined, body: {} }, 'x'),
  'the column days of input cannot be of the type date[]: make it jsonb, and convert it in the statement':
    () => inputTable({ name: 'text', days: 'date[]' }),
  'two operations have different statements called x: give one of them another name, as in name: …':
    () => ['SELECT 1', 'SELECT 2'].map((text) => statements.add('x', text))
}

t.test('mistakes of a developer are errors', (t) => {
  for (const [message, make] of Object.entries(mistakes))
    t.throws(make, { message })
  t.end()
})
