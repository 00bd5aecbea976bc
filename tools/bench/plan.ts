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
  /** Rows in the table at the start. */
  rows: number
  /** Whether the rows are pets, which only some servers know. */
  hasPets?: boolean
  /** Whether creates are deleted again, so that lists keep their length. */
  isTrimmed?: boolean
}

const get = (path: string): LoadRequest => ({ method: 'GET', path })
const post = (path: string, body: object): LoadRequest => ({
  method: 'POST',
  path,
  body
})
const times = <Item>(length: number, item: (index: number) => Item) =>
  Array.from({ length }, (_, index) => item(index))

const listCategories = get('/categories')
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

/** A work at one connection, and at many. */
const bothOf = (what: string, request: LoadRequest, rows = 100): Work[] => {
  const many = { ...manyAtOnce(what, [request]), rows }
  return [{ ...many, title: `${what}, 1 connection`, connections: 1 }, many]
}

const pets = 10_000
const ofPets = (work: Work): Work => ({ ...work, rows: pets, hasPets: true })

/** A page in the middle of the sold pets. Its cursor is that of the service. */
function soldPage(index: number): LoadRequest {
  // Spread over the table.
  const id = String((index * 7919) % (pets / 2))
  const cursor = Buffer.from(id).toString('base64url')
  return get(`/pets?status=sold&limit=20&cursor=${cursor}`)
}

const petOf = (index: number) =>
  post('/pets', { name: 'Milo', categoryId: index + 1 })

const mixed = [createCategory, ...times(9, () => listCategories)]

export const works: Work[] = [
  ...[20, 100, 1_000, 10_000].flatMap((rows) =>
    bothOf(`list, ${rows} rows`, listCategories, rows)
  ),
  ...bothOf('create', createCategory),
  { ...manyAtOnce('90 % list, 10 % create', mixed), isTrimmed: true },
  ...[
    manyAtOnce('20 sold pets of 100 pages', times(100, soldPage)),
    ...bothOf('the same pet', get('/pets/5000')),
    manyAtOnce('create a pet', times(10, petOf))
  ].map(ofPets)
]
