import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/framework/config.ts'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'
import { query, silent } from '../support/database.ts'
import { codeOrStatus, gather, get, post } from '../support/requests.ts'
import {
  noFile,
  type Service,
  type ServiceOptions,
  startService
} from '../support/service.ts'

/** A service with the category 1 and as many available pets of it. */
async function startWithPets(
  t: Test,
  count: number,
  options: ServiceOptions = {}
) {
  const service = await startService(t, options)
  await query(
    service.databaseUrl,
    `
      INSERT INTO categories (name) VALUES ('Dog');

      INSERT INTO pets (name, category_id, status)
      SELECT n, 1, 'available'
      FROM generate_series(1, ${count}) AS n
    `
  )

  return service
}

const maxInt64 = '9223372036854775807'

t.test('created pets are listed and found by their exact ids', async (t) => {
  const service = await startWithPets(t, 0)
  await query(
    service.databaseUrl,
    `
      INSERT INTO categories (id, name) VALUES (${maxInt64}, 'x');

      ALTER SEQUENCE pets_id_seq RESTART 9223372036854775806
    `
  )
  const json = { 'content-type': 'application/json' }

  const bellaInput = `{"name":"Bella","categoryId":${maxInt64}}`
  const bella =
    '{"id":9223372036854775806,"name":"Bella",' +
    `"categoryId":${maxInt64},"status":"available"}`
  t.match(await post(service, 'pets', bellaInput, json), {
    statusCode: 201,
    body: bella
  })

  const miloProperties = `"name":"Milo 🐇\\"","categoryId":${maxInt64},"status":"pending"`
  const milo = `{"id":${maxInt64},${miloProperties}}`
  t.match(await post(service, 'pets', `{${miloProperties}}`, json), {
    statusCode: 201,
    body: milo
  })

  t.equal((await get(service, 'pets')).body, `[${bella},${milo}]`)
  t.equal((await get(service, `pets/${maxInt64}`)).body, milo)
})

t.test('getPet announces its sunset, with a pet and without one', async (t) => {
  const service = await startWithPets(t, 1)
  // There is no pet 2.
  for (const path of ['pets/1', 'pets/2']) {
    const { headers } = await get(service, path)
    t.equal(headers['deprecation'], '@1795305600')
    t.equal(headers['sunset'], 'Thu, 05 Dec 2030 00:00:00 GMT')
    t.equal(headers.link, '<../pets>; rel="successor-version"')
  }
})

t.test(
  'a created pet has a Location, where it is found, even in a replay',
  async (t) => {
    const service = await startWithPets(t, 2)
    const createPet = () =>
      post(
        service,
        'pets',
        { name: 'Bella', categoryId: 1 },
        { 'idempotency-key': 'bella' }
      )

    for (const replayed of [undefined, 'true']) {
      const { headers, body } = await createPet()
      t.equal(headers['idempotent-replayed'], replayed)
      t.equal(headers.location, 'pets/3')

      const { href } = new URL('pets/3', `${service.url}/v1/pets`)
      const response = await fetch(href, { headers: service.auth })
      t.equal(await response.text(), body)
    }

    const withoutKey = await post(service, 'pets', { name: 'x', categoryId: 1 })
    t.equal(withoutKey.headers.location, 'pets/4')
  }
)

t.test('an error and a message, which no GET finds, have none', async (t) => {
  const service = await startWithPets(t, 0)
  const responses = [
    await post(service, 'pets', {}),
    await post(service, 'messages', { message: 'x' })
  ]
  for (const { headers } of responses) t.equal(headers.location, undefined)
})

/** A service whose OpenAPI document has a further status of pets. */
async function startWithReserved(t: Test) {
  const yaml = readFileSync('openapi.yaml', 'utf8').replaceAll(
    'enum: [available, pending, sold]',
    'enum: [available, pending, sold, reserved]'
  )
  const folder = t.testdir({ 'openapi.yaml': yaml })
  const service = await startWithPets(t, 1)
  const app = await buildApp({
    config: loadConfig({}, noFile),
    api,
    apiDocument: readApiDocument(join(folder, 'openapi.yaml')),
    database: service.database,
    log: silent
  })

  t.teardown(() => app.close())

  return { ...service, app }
}

t.test(
  'a status that is added to the OpenAPI document is stored and found',
  async (t) => {
    const service = await startWithReserved(t)
    const pet = { name: 'Rex', categoryId: 1, status: 'reserved' }

    const created = await post(service, 'pets', pet)
    t.equal(created.statusCode, 201)
    const { body } = await get(service, 'pets?status=reserved')
    t.same(JSON.parse(body), [{ id: 2, ...pet }])
  }
)

/** Where a proxy serves the service: below another path. */
const proxyUrl = 'https://proxy.test/shop/v1/'

/** The URL of the next page, as a client behind the proxy finds it. */
function nextUrl(url: string, link: unknown): string | undefined {
  const [, next] = /^<(.*)>; rel="next"$/.exec(String(link)) ?? []
  return next === undefined ? undefined : new URL(next, url).href
}

/** Follows the links from a page. Returns the ids of the pets by page. */
async function readPages(service: Service, first: string) {
  const pages: number[][] = []
  let url: string | undefined = proxyUrl + first
  while (url !== undefined && pages.length < 20) {
    const response = await get(service, url.replace(proxyUrl, ''))
    pages.push(response.json<{ id: number }[]>().map(({ id }) => id))
    url = nextUrl(url, response.headers.link)
  }

  return { sizes: pages.map(({ length }) => length), ids: pages.flat() }
}

t.test('pages have each pet of a filter once, ordered by id', async (t) => {
  const service = await startWithPets(t, 100)
  await query(
    service.databaseUrl,
    "UPDATE pets SET status = 'sold' WHERE id % 10 <> 0"
  )
  const all = Array.from({ length: 100 }, (_, index) => index + 1)
  const sold = all.filter((id) => id % 10 !== 0)
  const available = all.filter((id) => id % 10 === 0)
  const read = (path: string) => readPages(service, path)

  t.same(await read('pets'), { sizes: [20, 20, 20, 20, 20], ids: all })
  t.same(await read('pets?limit=100'), { sizes: [100], ids: all })
  t.same(await read('pets?limit=40&status=sold'), {
    sizes: [40, 40, 10],
    ids: sold
  })
  t.same(await read('pets?limit=7&status=available'), {
    sizes: [7, 3],
    ids: available
  })
  t.same(await read('pets?status=pending'), { sizes: [0], ids: [] })
})

t.test('a cursor that no Link has gets 400', async (t) => {
  const service = await startWithPets(t, 0)
  const cursors = ['', 'x', 'LTA-', 'OTk5OTk5OTk5OTk5OTk5OTk5OQ']
  for (const cursor of cursors) {
    const response = await get(service, `pets?cursor=${cursor}`)
    const error: unknown = response.json()
    const message = /^query.cursor must be taken from the Link header/
    t.match(error, { status: 400, message }, cursor)
  }
})

const sharedReads = [
  {
    statement: 'pages-of-pets',
    first: 'pets?limit=1',
    others: ['pets?limit=2', 'pets?limit=3']
  },
  {
    statement: 'pets-by-id',
    first: 'pets/2',
    others: ['pets/3', 'pets/4']
  }
]

for (const { statement, first, others } of sharedReads) {
  t.test(`reads that wait together share ${statement}`, async (t) => {
    let reads = 0
    const countReads = (name: string) => {
      if (name === statement) reads++
    }
    const service = await startWithPets(t, 3, { onStatement: countReads })
    const send = (path: string) => get(service, path)
    const paths = Array.from({ length: 10 }, () => [first, ...others]).flat()

    const responses = await gather(t, service, {
      table: 'pets',
      send,
      leaders: [first],
      followers: paths
    })
    t.equal(reads, 2)

    const together = responses.slice(1)
    for (const [index, path] of paths.entries())
      t.equal(together[index]?.body, (await send(path)).body, path)
  })
}

t.test('long pages count as buffered responses', async (t) => {
  const service = await startWithPets(t, 100, {
    config: { MAX_RESPONSE_BUFFER_BYTES: 65536 }
  })
  t.equal(await codeOrStatus(get(service, 'pets?limit=100')), 200)
  await query(service.databaseUrl, "UPDATE pets SET name = repeat('x', 1000)")
  t.equal(await codeOrStatus(get(service, 'pets?limit=100')), 'unavailable')
})
