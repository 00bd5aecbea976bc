import type { Test } from 'tap'
import { lockAwaited, lockTable } from './database.ts'
import { handled, type Service } from './service.ts'

/** Sends a GET request with the API key of the service. */
export const get = ({ app, auth }: Service, path: string, headers = {}) =>
  app.inject({ url: `/v1/${path}`, headers: { ...auth, ...headers } })

/** Sends a POST request with the API key of the service. */
export const post = (
  { app, auth }: Service,
  path: string,
  payload: object | string,
  headers = {}
) =>
  app.inject({
    method: 'POST',
    url: `/v1/${path}`,
    headers: { ...auth, ...headers },
    payload
  })

/** Sends a DELETE request with the API key of the service. */
export const remove = ({ app, auth }: Service, path: string, headers = {}) =>
  app.inject({
    method: 'DELETE',
    url: `/v1/${path}`,
    headers: { ...auth, ...headers }
  })

/**
 * The code of an error, such as `unavailable`, or else the status; with
 * `replayed` if it is a replay.
 */
export async function codeOrStatus(
  request: ReturnType<typeof get>
): Promise<string | number> {
  const response = await request
  if (response.headers['idempotent-replayed'] === 'true')
    return `${response.statusCode} replayed`
  return response.json<{ code?: string }>().code ?? response.statusCode
}

interface Gathering<Item, Response> {
  /** The table that is locked meanwhile. */
  table: string
  send: (item: Item) => PromiseLike<Response>
  /** Each is sent alone, and waits for the lock. */
  leaders: Item[]
  /** They are sent while the leaders wait. */
  followers: Item[]
}

/**
 * Makes the followers gather in one batch, behind leaders that wait for a lock.
 * Returns the responses to all, those to the leaders first.
 */
export async function gather<Item, Response>(
  t: Test,
  { databaseUrl }: Service,
  { table, send, leaders, followers }: Gathering<Item, Response>
): Promise<Response[]> {
  const lock = await lockTable(t, databaseUrl, table)
  const waiting = leaders.map((item) => send(item))
  await lockAwaited(databaseUrl, leaders.length)

  const allCame = handled(t, followers.length)
  const gathered = followers.map((item) => send(item))
  await allCame
  await lock.release()

  return Promise.all([...waiting, ...gathered])
}
