import t, { type Test } from 'tap'
import { lockAwaited, lockTable, query } from '../support/database.ts'
import { handled, type Service, type ServiceOptions, startService } from '../support/service.ts'

/** A service with the category 1 and as many available pets of it. */
async function startWithPets(t: Test, count: number, options: ServiceOptions = {}) {
  const service = await startService(t, options)
  await query(
    service.databaseUrl,
    `INSERT INTO categories (name) VALUES ('Dog');
     INSERT INTO pets (name, category_id, status) SELECT n, 1, 'available' FROM generate_series(1, ${count}) AS n`
  )
  return service
}

const get = ({ app, auth }: Service, url: string) => app.inject({ url: `/v1/${url}`, headers: auth })
const create = ({ app, auth }: Service, payload: object) =>
  app.inject({ method: 'POST', url: '/v1/pets', headers: auth, payload })

t.test('a created pet is available unless stated otherwise, listed, and found by its id', async (t) => {
  const service = await startWithPets(t, 0)
  const bella = { id: 1, name: 'Bella', categoryId: 1, status: 'available' }
  const milo = { id: 2, name: 'Milo 🐇"', categoryId: 1, status: 'pending' }
  const created = await create(service, { name: bella.name, categoryId: 1 })
  t.equal(created.statusCode, 201)
  t.same(created.json(), bella)
  t.same((await create(service, { ...milo, id: undefined })).json(), milo)
  t.same((await get(service, 'pets')).json(), [bella, milo])
  t.same((await get(service, 'pets/2')).json(), milo)
})

t.test('ids are exact up to 2^63-1', async (t) => {
  const service = await startWithPets(t, 0)
  const id = '9223372036854775807'
  await query(service.databaseUrl, `INSERT INTO categories (id, name) VALUES (${id}, 'x')`)
  await query(service.databaseUrl, `INSERT INTO pets VALUES (${id}, 'x', ${id}, 'sold')`)
  const pet = `{"id":${id},"name":"x","categoryId":${id},"status":"sold"}`
  t.equal((await get(service, `pets/${id}`)).body, pet)
  t.equal((await get(service, 'pets')).body, `[${pet}]`)
})

t.test('the pages of a filter have each of its pets once, in the order of ids', async (t) => {
  const service = await startWithPets(t, 100)
  await query(service.databaseUrl, "UPDATE pets SET status = 'sold' WHERE id % 10 <> 0")
  const pagesFrom = async (first: string) => {
    const pages: number[][] = []
    // A proxy serves it below another path.
    let url: URL | undefined = new URL(first, 'https://proxy.test/shop/v1/')
    while (url !== undefined && pages.length < 20) {
      const response = await get(service, url.href.replace('https://proxy.test/shop/v1/', ''))
      pages.push(response.json<{ id: number }[]>().map(({ id }) => id))
      const [, next] = /^<(.*)>; rel="next"$/.exec(String(response.headers.link)) ?? []
      url = next === undefined ? undefined : new URL(next, url)
    }
    return { sizes: pages.map(({ length }) => length), ids: pages.flat() }
  }
  const all = Array.from({ length: 100 }, (_, index) => index + 1)
  const sold = all.filter((id) => id % 10 !== 0)
  t.same(await pagesFrom('pets'), { sizes: [20, 20, 20, 20, 20], ids: all })
  t.same(await pagesFrom('pets?limit=100'), { sizes: [100], ids: all })
  t.same(await pagesFrom('pets?limit=40&status=sold'), { sizes: [40, 40, 10], ids: sold })
  t.same(await pagesFrom('pets?limit=7&status=available'), { sizes: [7, 3], ids: all.filter((id) => id % 10 === 0) })
  t.same(await pagesFrom('pets?status=pending'), { sizes: [0], ids: [] })
})

t.test('an invalid limit, status or cursor gets 400', async (t) => {
  const service = await startWithPets(t, 0)
  const cursors = ['', 'x', 'AAAAAAAAABR', 'AAAAAAAAABQ=', 'AAAAAAAAABQA'].map((cursor) => `cursor=${cursor}`)
  for (const query of ['limit=0', 'limit=101', 'limit=1.5', 'status=lost', 'status=', ...cursors]) {
    const { status, message } = (await get(service, `pets?${query}`)).json<{ status: number; message: string }>()
    t.match({ status, message }, { status: 400, message: `query.${query.replace(/=.*/, '')} must be` }, query)
  }
})

t.test('every response to getPet announces its sunset and links to listPets', async (t) => {
  const service = await startWithPets(t, 1)
  const anonymous = await service.app.inject('/v1/pets/1')
  for (const response of [await get(service, 'pets/1'), await get(service, 'pets/2'), anonymous]) {
    t.match(response.headers, { deprecation: '@1795305600', sunset: 'Thu, 05 Dec 2030 00:00:00 GMT' })
    const [, link = ''] = /<(.*)>; rel="successor-version"/.exec(String(response.headers.link)) ?? []
    t.equal(new URL(link, 'https://proxy.test/shop/v1/pets/1').href, 'https://proxy.test/shop/v1/pets')
  }
})

t.test(
  'of creates that arrive together, one of an unknown category fails alone, without another statement',
  async (t) => {
    let writes = 0
    const service = await startWithPets(t, 0, {
      onStatement: (name) => {
        if (name === 'create-pets') writes++
      }
    })
    const lock = await lockTable(t, service.databaseUrl, 'pets')
    const first = create(service, { name: 'first', categoryId: 1 })
    await lockAwaited(service.databaseUrl)
    const allCame = handled(t, 20)
    const others = Array.from({ length: 20 }, (_, n) =>
      create(service, { name: `${n}`, categoryId: n === 7 ? 404 : 1 })
    )
    await allCame
    await lock.release()
    t.equal((await first).statusCode, 201)
    const responses = await Promise.all(others)
    t.equal(writes, 2)
    const message = 'body.categoryId must be the id of an existing category, not 404'
    t.same(responses.splice(7, 1)[0]?.json(), { code: 'invalid_request', message, status: 400 })
    for (const [index, response] of responses.entries()) t.match(response.json(), { id: index + 2 })
  }
)

t.test('reads that wait together share a statement, and each gets its own pets', async (t) => {
  const statements: string[] = []
  const service = await startWithPets(t, 30, { onStatement: (name) => statements.push(name) })
  const lock = await lockTable(t, service.databaseUrl, 'pets')
  const firstsCame = handled(t, 2)
  const firsts = [get(service, 'pets/1'), get(service, 'pets')]
  await firstsCame
  await lockAwaited(service.databaseUrl)
  const allCame = handled(t, 60)
  const pets = Array.from({ length: 30 }, (_, index) => get(service, `pets/${(index % 3) + 29}`))
  const pages = Array.from({ length: 30 }, (_, index) => get(service, `pets?limit=${(index % 3) + 1}`))
  await allCame
  await lock.release()
  await Promise.all(firsts)
  for (const [index, { statusCode }] of (await Promise.all(pets)).entries()) {
    t.equal(statusCode, index % 3 === 2 ? 404 : 200)
  }
  for (const [index, page] of (await Promise.all(pages)).entries()) t.equal(page.json<[]>().length, (index % 3) + 1)
  t.equal(statements.filter((name) => name === 'pages-of-pets').length, 2)
  t.equal(statements.filter((name) => name === 'pets-by-id').length, 2)
})

t.test('long pages count as buffered responses', async (t) => {
  const service = await startWithPets(t, 100, { config: { RESPONSE_MEMORY: 65536 } })
  t.equal((await get(service, 'pets?limit=100')).statusCode, 200)
  await query(service.databaseUrl, 'UPDATE pets SET name = $1', ['x'.repeat(1000)])
  t.equal((await get(service, 'pets?limit=100')).statusCode, 503)
})
