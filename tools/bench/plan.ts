export interface LoadRequest {
  method: 'GET' | 'POST'
  /** Below the version. */
  path: string
  headers?: Record<string, string>
  body?: string
  /** The name of a header that has a new UUID in each request. */
  freshHeader?: string
}

/** What clients request. */
export interface Kind {
  title: string
  /**
   * What each connection sends again and again. Connections start at different
   * places.
   */
  requests: LoadRequest[]
  /** The table that has the rows. Only some servers know pets. */
  table: 'categories' | 'pets'
}

/** One row of the tables. */
export interface Work {
  kind: Kind
  /** Rows in the table at the start. */
  rows: number
  connections: number
  /** If other than those of the plan. */
  rounds?: number
}

export interface Plan {
  title: string
  /** Each round measures the work on each server, one after the other. */
  rounds: number
  /** Seconds of each measurement: whole ones, as wrk takes. */
  seconds: number
  works: Work[]
}

const get = (path: string): LoadRequest => ({ method: 'GET', path })
const post = (path: string, body: object): LoadRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body)
})
const times = <Item>(length: number, item: (index: number) => Item) =>
  Array.from({ length }, (_, index) => item(index))

const listCategories = get('/categories')
const createCategory = post('/categories', {
  name: 'Rabbit',
  description: 'Small mammals with long ears'
})
const pets = 10_000
/** Spread over the table. */
const anyPet = (index: number) => 1 + ((index * 7919) % pets)

const categoryKind = (title: string, ...requests: LoadRequest[]): Kind => ({
  title,
  requests,
  table: 'categories'
})
const petKind = (title: string, ...requests: LoadRequest[]): Kind => ({
  title,
  requests,
  table: 'pets'
})

export const kinds = {
  list: categoryKind('list', listCategories),
  create: categoryKind('create', createCategory),
  keyed: categoryKind('create with a key', {
    ...createCategory,
    freshHeader: 'idempotency-key'
  }),
  mixed: categoryKind(
    '90 % list, 10 % create',
    createCategory,
    ...times(9, () => listCategories)
  ),
  firstPets: petKind('100 pets', get('/pets?limit=100')),
  soldPets: petKind(
    '20 sold pets of 100 pages',
    ...times(100, (index) => get(soldAfter(anyPet(index) / 2)))
  ),
  onePet: petKind('the same pet', get('/pets/5000')),
  anyPet: petKind(
    'one of 100 pets',
    ...times(100, (index) => get(`/pets/${anyPet(index)}`))
  ),
  createPet: petKind(
    'create a pet',
    ...times(10, (index) =>
      post('/pets', { name: 'Milo', categoryId: index + 1 })
    )
  )
}

/** A page in the middle of the sold pets. Its cursor is that of the service. */
function soldAfter(id: number): string {
  const cursor = Buffer.from(String(Math.trunc(id))).toString('base64url')
  return `/pets?status=sold&limit=20&cursor=${cursor}`
}

const list = (rows: number, connections: number): Work => ({
  kind: kinds.list,
  rows,
  connections
})
const create = (connections: number): Work => ({
  kind: kinds.create,
  rows: 100,
  connections
})
const mixed = (connections: number): Work => ({
  kind: kinds.mixed,
  rows: 100,
  connections
})
const withPets = (kind: Kind, connections: number): Work => ({
  kind,
  rows: pets,
  connections,
  rounds: 3
})

export const plans: Record<'full' | 'quick', Plan> = {
  full: {
    title: 'full run, medians of 5 rounds (3 with pets or 10,000 rows)',
    rounds: 5,
    seconds: 1,
    works: [
      ...[20, 100, 1_000].flatMap((rows) => [list(rows, 1), list(rows, 64)]),
      { ...list(10_000, 1), rounds: 3 },
      { ...list(10_000, 64), rounds: 3 },
      create(1),
      create(64),
      mixed(64),
      withPets(kinds.firstPets, 64),
      withPets(kinds.soldPets, 64),
      withPets(kinds.onePet, 1),
      withPets(kinds.onePet, 64),
      withPets(kinds.anyPet, 64),
      withPets(kinds.createPet, 64)
    ]
  },
  quick: {
    title: 'quick run, medians of 3 rounds',
    rounds: 3,
    seconds: 1,
    works: [
      list(100, 1),
      list(100, 64),
      list(1_000, 64),
      list(10_000, 64),
      create(64),
      mixed(64),
      withPets(kinds.anyPet, 64)
    ]
  }
}

export function titleOf({ kind, rows, connections }: Work): string {
  const size = kind === kinds.list ? `, ${rows} rows` : ''
  return `${kind.title}${size}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`
}
