// The API of notes/openapi.yaml, for tests that are not about the API of this
// repository.
import type { Test } from 'tap'
import { openDatabase, query, silent } from './database.ts'
import * as keys from '../../src/framework/keys/key.ts'
import { ApiKeyStore } from '../../src/framework/keys/store.ts'
import { api as notes } from './notes/api.ts'
import * as processes from './process.ts'
import { get, post } from './requests.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'

export { notes }

/** What the notes are called in keys and challenges. */
export const { apiKeyPrefix, realm } = notes.names

/** Makes a key of the notes that is not stored. */
export const makeKey = () => keys.makeKey(apiKeyPrefix)

/** Creates an API key of the notes in the database at `url`. */
export const createKey = (t: Test, url: string) =>
  new ApiKeyStore(openDatabase(t, url), apiKeyPrefix, silent).create('test')

/** Like startService, with the API of the notes. */
export const startNotes = (t: Test, options: ServiceOptions = {}) =>
  startService(t, { ...options, api: notes })

/** Lets a process serve the notes. */
export const notesEnvironment = { TEST_API: 'notes' }

/** Like serve, with the API of the notes. */
export const serveNotes: typeof processes.serve = (t, env, cwd) =>
  processes.serve(t, { ...env, ...notesEnvironment }, cwd)

/** Creates a note in a process. */
export const postNote = (url: string, key: string, name: string) =>
  processes.postNamed(url, key, name, 'notes')

/** Lists the notes. */
export const listNotes = (service: Service, headers = {}) =>
  get(service, 'notes', headers)

/** Creates a note. */
export const createNote = (service: Service, name = 'x', headers = {}) =>
  post(service, 'notes', { name }, headers)

/** Makes each read of the notes fail with a division by zero. */
export const breakNotes = (url: string) =>
  query(
    url,
    `ALTER TABLE notes RENAME TO lost;
     CREATE VIEW notes AS
     SELECT (1 / 0)::bigint AS id, name, description, due_at
     FROM lost`
  )

/** The ids and names of all notes, in the order of their ids. */
export const storedNotes = (url: string) =>
  query(url, 'SELECT id, name FROM notes ORDER BY id')

/** The names of all notes, in the order of their ids. */
export const storedNames = async (url: string) =>
  (await storedNotes(url)).map(({ name }) => String(name))
