interface LoadRequest {
  method: 'GET' | 'POST'
  /** Below the version. */
  path: string
  headers?: Record<string, string>
  body?: string
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
  rounds: number
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

/** Each round measures the work on each server, one after the other. */
const rounds = 5
const fewRounds = 3

const titleOf = (what: string, connections: number) =>
  `${what}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`

export const list = (rows: number, connections: number): Work => ({
  title: titleOf(`list, ${rows} rows`, connections),
  requests: [listCategories],
  connections,
  rows,
  rounds: rows < 10_000 ? rounds : fewRounds
})

export const create = (connections: number): Work => ({
  title: titleOf('create', connections),
  requests: [createCategory],
  connections,
  rows: 100,
  rounds
})

const mixed: Work = {
  title: titleOf('90 % list, 10 % create', 64),
  requests: [createCategory, ...times(9, () => listCategories)],
  connections: 64,
  rows: 100,
  isTrimmed: true,
  rounds
}

const pets = 10_000
/** Spread over the table. */
const anyPet = (index: number) => 1 + ((index * 7919) % pets)

/** A page in the middle of the sold pets. Its cursor is that of the service. */
function soldAfter(id: number): string {
  const cursor = Buffer.from(String(Math.trunc(id))).toString('base64url')
  return `/pets?status=sold&limit=20&cursor=${cursor}`
}

const ofPets = (
  what: string,
  requests: LoadRequest[],
  connections = 64
): Work => ({
  title: titleOf(what, connections),
  requests,
  connections,
  rows: pets,
  hasPets: true,
  rounds: fewRounds
})

const anyOf100Pets = ofPets(
  'one of 100 pets',
  times(100, (index) => get(`/pets/${anyPet(index)}`))
)

const createPet = ofPets(
  'create a pet',
  times(10, (index) => post('/pets', { name: 'Milo', categoryId: index + 1 }))
)

const soldPets = ofPets(
  '20 sold pets of 100 pages',
  times(100, (index) => get(soldAfter(anyPet(index) / 2)))
)

export const works: Work[] = [
  ...[20, 100, 1_000, 10_000].flatMap((rows) => [
    list(rows, 1),
    list(rows, 64)
  ]),
  create(1),
  create(64),
  mixed,
  ofPets('100 pets', [get('/pets?limit=100')]),
  soldPets,
  ofPets('the same pet', [get('/pets/5000')], 1),
  ofPets('the same pet', [get('/pets/5000')]),
  anyOf100Pets,
  createPet
]
