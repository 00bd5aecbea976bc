// `npm start`: runs the service on DATABASE_URL. Without it, the launcher starts
// the embedded PostgreSQL, and runs the service as its lesser role.
import pg from 'pg'
import {
  createApiKey,
  listApiKeys
} from '../../src/api-keys/manage-api-keys.ts'
import { exitWithError } from '../../src/exit-with-error.ts'
import { rejectArguments } from '../../src/reject-arguments.ts'
import { runUntilSignal } from '../../src/run-until-signal.ts'
import { provideDatabase } from './database.ts'

rejectArguments()
await runUntilSignal(async () => {
  const server = await provideDatabase(false)
  server?.unexpectedExit?.catch(exitWithError)
  if (server)
    process.env['DATABASE_URL'] = server.url.replace(
      'postgres@',
      'pet_categories_service@'
    )
  const { start, stop } = await import('../../src/service.ts')
  const service = await start(process.env)
  if (server) await welcome(service.url, server.url)

  return async () => {
    await stop(service)
    await server?.stop()
  }
})

/** Shows the docs, a request, and the first API key, which it creates. */
async function welcome(url: string, databaseUrl: string): Promise<void> {
  const connection = new pg.Client(databaseUrl)
  await connection.connect()
  const isNew = (await listApiKeys(connection)).length === 0
  const apiKey = isNew ? await createApiKey(connection, 'first') : '<API_KEY>'
  await connection.end()
  const origin = url.replace('[::]', 'localhost')

  console.log(`
  Docs    ${origin}/docs
  Try it  curl ${origin}/v1/categories -H 'Authorization: Bearer ${apiKey}'

  API keys are shown once. Create another: npm run keys -- create --name NAME
`)
}
