import { query } from './database.ts'
import type { Service } from './service.ts'

/** What a request needs of a service. */
type Target = Pick<Service, 'app' | 'auth'>

/** The header with an API key. */
export const bearer = (apiKey: string) => ({
  authorization: `Bearer ${apiKey}`
})

/** Sends a GET request with the API key of the service. */
export const get = ({ app, auth }: Target, path: string, headers = {}) =>
  app.inject({ url: `/v1/${path}`, headers: { ...auth, ...headers } })

/** Sends a POST request with the API key of the service. */
export const post = (
  { app, auth }: Target,
  path: string,
  payload: object | string,
  headers = {}
) =>
  app.inject({
    method: 'POST',
    url: `/v1/${path}`,
    headers: { 'content-type': 'application/json', ...auth, ...headers },
    payload
  })

/** Lists the categories. */
export const listCategories = (service: Target, headers = {}) =>
  get(service, 'categories', headers)

/** Creates a category. */
export const createCategory = (service: Target, name = 'x', headers = {}) =>
  post(service, 'categories', { name }, headers)

/** The header with an Idempotency-Key; none without one. */
export const idempotencyKey = (value?: string) =>
  value === undefined ? {} : { 'idempotency-key': value }

/**
 * The code of an error, such as `unavailable`, or else the status; with
 * `replayed` if it is a replay.
 */
export async function statusOrCode(
  request: ReturnType<typeof get>
): Promise<string | number> {
  const response = await request
  if (response.headers['idempotent-replayed'] === 'true')
    return `${response.statusCode} replayed`
  if (response.body === '') return response.statusCode
  return response.json<{ code?: string }>().code ?? response.statusCode
}

/** Lets each read of the categories fail, with `division by zero`. */
export const breakCategories = (databaseUrl: string) =>
  query(
    databaseUrl,
    `ALTER TABLE categories RENAME TO lost;
     CREATE VIEW categories AS
     SELECT (1 / 0)::bigint AS id, name, description FROM lost;
     GRANT SELECT ON categories TO PUBLIC`
  )
