import { readFileSync } from 'node:fs'
import t from 'tap'
import { statementsFile } from '../../tools/generate/statements.ts'
import { createDatabase, query } from '../support/database.ts'
import { exampleRequests } from '../support/examples.ts'
import { startService } from '../support/service.ts'

const file = 'generated/statements.sql'

t.test(`${file} has the statements of the service`, (t) => {
  t.equal(readFileSync(file, 'utf8'), statementsFile())
  t.end()
})

t.test(`${file} has each statement that the examples run`, async (t) => {
  const names = new Set<string>()
  const { app, auth } = await startService(t, {
    onStatement: (name) => names.add(name)
  })
  const recorded = readFileSync(file, 'utf8')

  names.clear()
  for (const { request } of exampleRequests)
    await app.inject({ ...request, headers: { ...auth, ...request.headers } })

  t.ok(names.size > 0)
  for (const name of names) t.match(recorded, `PREPARE "${name}" AS\n`)
})

t.test(`${file} can be pasted into psql`, async (t) => {
  const databaseUrl = await createDatabase(t)

  await t.resolves(query(databaseUrl, readFileSync(file, 'utf8')))
})
