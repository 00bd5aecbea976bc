import type { Test } from 'tap'
import { lockAwaited, lockTable } from './database.ts'
import { handled, type Service } from './service.ts'

/** The header with an API key. */
export const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

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

/**
 * Makes requests gather in one batch, behind one that waits for a lock of the
 * table. Each function sends one.
 *
 * @returns the responses to all, that to the leader first
 */
export async function gather<Response>(
  t: Test,
  { databaseUrl }: Service,
  table: string,
  leader: () => PromiseLike<Response>,
  followers: (() => PromiseLike<Response>)[]
): Promise<Response[]> {
  const lock = await lockTable(t, databaseUrl, table)
  const first = leader()
  await lockAwaited(databaseUrl)

  const allCame = handled(t, followers.length)
  const gathered = followers.map((send) => send())
  await allCame
  await lock.release()

  return Promise.all([first, ...gathered])
}
