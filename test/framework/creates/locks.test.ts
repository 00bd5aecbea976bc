// A check may find that a row cannot be stored yet, because another transaction
// has locked something that it refers to.
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { insertOperation } from '../../../src/framework/creates/insert-operation.ts'
import { sendError } from '../../../src/framework/http/errors.ts'
import { sql } from '../../../src/framework/postgres/sql.ts'
import {
  connect,
  createDatabase,
  openDatabase
} from '../../support/database.ts'
import { asHandler } from '../../support/handlers.ts'
import { storedNames } from '../../support/notes.ts'
import { NewNote } from '../../support/notes/generated/columns.ts'
import { Note } from '../../support/notes/generated/json.ts'
import type { Operations } from '../../support/notes/generated/operations.ts'

/** Notes of this name refer to what another transaction has locked. */
const lockedName = 'locked'

const isUnlocked = {
  statement: sql`
    SELECT
      input.*,
      CASE name WHEN '${lockedName}' THEN
        CASE WHEN NOT pg_try_advisory_xact_lock(1) THEN 'locked' END
      END AS obstacle
    FROM input
  `,
  message: () => 'invalid'
}

/** POST /notes with this check, and the lock that it finds. */
async function start(t: Test, timeout: number) {
  const databaseUrl = await createDatabase(t)
  const createNote: Operations['createNote'] = insertOperation(
    openDatabase(t, databaseUrl, timeout),
    {
      status: 201,
      table: 'notes',
      fromDatabase: { id: `nextval('notes_id_seq')` },
      body: NewNote,
      check: isUnlocked,
      json: Note
    }
  )

  const app = Fastify().setErrorHandler(sendError)
  app.post('/notes', asHandler(createNote))
  const createStatus = async (name: string) => {
    const request = { url: '/notes', payload: { name } }
    return (await app.inject({ method: 'POST', ...request })).statusCode
  }

  const holder = await connect(t, databaseUrl)
  await holder.query('SELECT pg_advisory_lock(1)')
  const release = () => holder.query('SELECT pg_advisory_unlock(1)')

  return { databaseUrl, createStatus, release }
}

t.test(
  'a row that finds a lock waits alone, and is stored when it is released',
  async (t) => {
    const { createStatus, release } = await start(t, 60_000)
    const settled: string[] = []
    const blocked = createStatus(lockedName).finally(() =>
      settled.push(lockedName)
    )

    for (let round = 0; round < 5; round++) {
      const others = Array.from({ length: 20 }, () => createStatus('other'))
      t.same(new Set(await Promise.all(others)), new Set([201]))
    }

    t.same(settled, [])
    await release()
    t.equal(await blocked, 201)
  }
)

t.test(
  'a row locked for DATABASE_TIMEOUT_MS gets 503, and can be sent again',
  async (t) => {
    const { databaseUrl, createStatus, release } = await start(t, 1000)

    t.equal(await createStatus(lockedName), 503)
    t.same(await storedNames(databaseUrl), [])

    await release()
    t.equal(await createStatus(lockedName), 201)
    t.same(await storedNames(databaseUrl), [lockedName])
  }
)
