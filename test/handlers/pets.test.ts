import t, { type Test } from 'tap'
import { ResponseBuffers } from '../../src/framework/reads/response-buffers.ts'
import { query } from '../support/database.ts'
import { get, post } from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'

/** A service with the category 1 and as many available pets of it. */
async function startWithPets(t: Test, count: number) {
  const service = await startService(t)
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
  const keyed = { ...json, 'idempotency-key': 'bella' }
  for (const replayed of [undefined, 'true']) {
    const created = await post(service, 'pets', bellaInput, keyed)
    t.match(created, { statusCode: 201, body: bella })
    t.equal(created.headers['idempotent-replayed'], replayed)
    // It is relative to the URL of the request.
    const { location = '' } = created.headers
    const { href } = new URL(String(location), `${service.url}/v1/pets`)
    const response = await fetch(href, { headers: service.auth })
    t.equal(await response.text(), bella)
  }

  const miloProperties = `"name":"Milo 🐇\\"","categoryId":${maxInt64},"status":"pending"`
  const milo = `{"id":${maxInt64},${miloProperties}}`
  t.match(await post(service, 'pets', `{${miloProperties}}`, json), {
    statusCode: 201,
    body: milo
  })

  t.equal((await get(service, 'pets')).body, `[${bella},${milo}]`)
  t.equal((await get(service, `pets/${maxInt64}`)).body, milo)
})

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

  t.same(await read('pets?limit=40&status=sold'), {
    sizes: [40, 40, 10],
    ids: sold
  })
  t.same(await read('pets?limit=10&status=available'), {
    sizes: [10],
    ids: available
  })
  t.same(await read('pets?status=pending'), { sizes: [0], ids: [] })
})

t.test('pages count as buffered responses', async (t) => {
  const held = t.capture(ResponseBuffers.prototype, 'hold')
  const service = await startWithPets(t, 1)
  const { body } = await get(service, 'pets')
  t.match(held(), [{ args: [Buffer.from(body)] }])
})
