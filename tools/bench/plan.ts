interface LoadRequest {
  method: 'GET' | 'POST'
  /** Below the version. */
  path: string
  /** As JSON. */
  body?: object
}

/** One row of the tables. */
export interface Work {
  title: string
  /** What wrk sends, one after the other, again and again. */
  requests: LoadRequest[]
  connections: number
  /** Rows in each table at the start. */
  rows: number
  /** Whether creates are deleted again, so that lists keep their length. */
  isTrimmed?: boolean
}

const get = (path: string): LoadRequest => ({ method: 'GET', path })
const listCategories = get('/categories')
const post = (path: string, body: object): LoadRequest => ({
  method: 'POST',
  path,
  body
})
const createCategory = post('/categories', {
  name: 'Rabbit',
  description: 'Small mammals with long ears'
})

const manyAtOnce = (what: string, requests: LoadRequest[]): Work => ({
  title: `${what}, 64 connections`,
  requests,
  connections: 64,
  rows: 100
})

/**
 * A work at many connections, and at one. The many compile its code: at one
 * connection, that would take ten seconds.
 */
const bothOf = (what: string, request: LoadRequest, rows = 100): Work[] => {
  const many = { ...manyAtOnce(what, [request]), rows }
  return [many, { ...many, title: `${what}, 1 connection`, connections: 1 }]
}

const mixed = [createCategory, ...Array<LoadRequest>(9).fill(listCategories)]

export const works: Work[] = [
  ...[20, 100, 1_000, 10_000].flatMap((rows) =>
    bothOf(`list, ${rows} rows`, listCategories, rows)
  ),
  ...bothOf('create', createCategory),
  { ...manyAtOnce('90 % list, 10 % create', mixed), isTrimmed: true },
  ...bothOf('the same pet', get('/pets/5000'), 10_000)
]
