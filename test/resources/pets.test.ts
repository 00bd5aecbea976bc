import t, { type Test } from 'tap'
import { query } from '../support/database.ts'
import { gather, get, post, result } from '../support/requests.ts'
import { type ServiceOptions, startService } from '../support/service.ts'

/** A service with the category 1 and as many available pets of it. */
async function startWithPets(
  t: Test,
  count: number,
  options: ServiceOptions = {}
) {
  const service = await startService(t, options)
  await query(
    service.databaseUrl,
    `INSERT INTO categories (name) VALUES ('Dog');
     INSERT INTO pets (name, category_id, status) SELECT n, 1, 'available' FROM generate_series(1, ${count}) AS n`
  )
  return service
}

t.test(
  'created pets, available unless stated otherwise, are listed and found by their exact ids',
  async (t) => {
    const service = await startWithPets(t, 0)
    const category = '9223372036854775807'
    await query(
      service.databaseUrl,
      `INSERT INTO categories (id, name) VALUES (${category}, 'x'); ALTER SEQUENCE pets_id_seq RESTART 9223372036854775806`
    )
    const create = (payload: string) =>
      post(service, 'pets', payload, { 'content-type': 'application/json' })
    const bella = `{"id":9223372036854775806,"name":"Bella","categoryId":${category},"status":"available"}`
    const milo = `{"id":9223372036854775807,"name":"Milo 🐇\\"","categoryId":${category},"status":"pending"}`
    t.match(await create(`{"name":"Bella","categoryId":${category}}`), {
      statusCode: 201,
      body: bella
    })
    t.match(await create(milo.replace(/"id":\d+,/, '')), {
      statusCode: 201,
      body: milo
    })
    t.equal((await get(service, 'pets')).body, `[${bella},${milo}]`)
    t.equal((await get(service, 'pets/9223372036854775807')).body, milo)
  }
)

t.test(
  'every response to getPet announces its sunset and its successor',
  async (t) => {
    const service = await startWithPets(t, 1)
    for (const path of ['pets/1', 'pets/2']) {
      const { deprecation, sunset, link } = (await get(service, path)).headers
      t.same(
        [deprecation, sunset],
        ['@1795305600', 'Thu, 05 Dec 2030 00:00:00 GMT']
      )
      t.equal(link, '<../pets>; rel="successor-version"')
    }
  }
)

t.test(
  'the pages of a filter have each of its pets once, in the order of ids',
  async (t) => {
    const service = await startWithPets(t, 100)
    await query(
      service.databaseUrl,
      "UPDATE pets SET status = 'sold' WHERE id % 10 <> 0"
    )
    const pagesFrom = async (first: string) => {
      const pages: number[][] = []
      // A proxy serves it below another path.
      let url: URL | undefined = new URL(first, 'https://proxy.test/shop/v1/')
      while (url !== undefined && pages.length < 20) {
        const response = await get(
          service,
          url.href.replace('https://proxy.test/shop/v1/', '')
        )
        pages.push(response.json<{ id: number }[]>().map(({ id }) => id))
        const [, next] =
          /^<(.*)>; rel="next"$/.exec(String(response.headers.link)) ?? []
        url = next === undefined ? undefined : new URL(next, url)
      }
      return { sizes: pages.map(({ length }) => length), ids: pages.flat() }
    }
    const all = Array.from({ length: 100 }, (_, index) => index + 1)
    const sold = all.filter((id) => id % 10 !== 0)
    t.same(await pagesFrom('pets'), { sizes: [20, 20, 20, 20, 20], ids: all })
    t.same(await pagesFrom('pets?limit=100'), { sizes: [100], ids: all })
    t.same(await pagesFrom('pets?limit=40&status=sold'), {
      sizes: [40, 40, 10],
      ids: sold
    })
    t.same(await pagesFrom('pets?limit=7&status=available'), {
      sizes: [7, 3],
      ids: all.filter((id) => id % 10 === 0)
    })
    t.same(await pagesFrom('pets?status=pending'), { sizes: [0], ids: [] })
  }
)

t.test('a cursor that no Link has gets 400', async (t) => {
  const service = await startWithPets(t, 0)
  for (const cursor of [
    '',
    'x',
    'AAAAAAAAABR',
    'AAAAAAAAABQ=',
    'AAAAAAAAABQA'
  ]) {
    const { status, message } = (
      await get(service, `pets?cursor=${cursor}`)
    ).json<Record<string, unknown>>()
    t.match(
      { status, message },
      {
        status: 400,
        message: /^query.cursor must be taken from the Link header/
      },
      cursor
    )
  }
})

for (const [statement, paths] of [
  ['pages-of-pets', ['pets?limit=1', 'pets?limit=2', 'pets?limit=3']],
  ['pets-by-id', ['pets/2', 'pets/3', 'pets/4']]
] as const) {
  t.test(
    `reads that wait together share the statement ${statement}, and each gets its own pets`,
    async (t) => {
      let reads = 0
      const service = await startWithPets(t, 3, {
        onStatement: (name) => name === statement && reads++
      })
      const send = (path: string) => get(service, path)
      const many = Array.from({ length: 10 }, () => paths).flat()
      const [, ...together] = await gather(
        t,
        service,
        'pets',
        send,
        [paths[0]],
        many
      )
      t.equal(reads, 2)
      for (const [index, { body }] of together.entries())
        t.equal(body, (await send(many[index] ?? '')).body)
    }
  )
}

t.test('long pages count as buffered responses', async (t) => {
  const service = await startWithPets(t, 100, {
    config: { MAX_RESPONSE_BUFFER_BYTES: 65536 }
  })
  t.equal(await result(get(service, 'pets?limit=100')), 200)
  await query(service.databaseUrl, "UPDATE pets SET name = repeat('x', 1000)")
  t.equal(await result(get(service, 'pets?limit=100')), 'unavailable')
})
