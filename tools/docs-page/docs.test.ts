// The docs page and the guide in Chromium: run it with
// `npm test --prefix tools/docs-page`.
import { createServer, request } from 'node:http'
import type { Page } from 'playwright-core'
import t from 'tap'
import { query } from '../../test/support/database.ts'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { startService } from '../../test/support/service.ts'
import {
  authorize,
  desktop,
  execute,
  isOpen,
  openDocs,
  openOperation,
  openSamples,
  operation,
  phone,
  tryOut,
  violations
} from './browser.ts'

const { url, key, databaseUrl } = await startService(t)

/** Ids that JSON.parse() rounds. */
const categoryId = '9223372036854775807'
const petId = '9007199254740993'
await query(
  databaseUrl,
  `INSERT INTO categories (id, name) VALUES (${categoryId}, 'Big');
  INSERT INTO pets (id, name, category_id, status)
  VALUES (${petId}, 'Bella', ${categoryId}, 'sold')`
)

/** Starts a proxy that strips a prefix. Returns its URL, with the prefix. */
async function startPrefixProxy(): Promise<string> {
  const prefix = '/petshop'
  const proxy = createServer((incoming, response) => {
    const { method, headers, url: path = '' } = incoming
    if (!path.startsWith(`${prefix}/`)) {
      response.writeHead(404).end()
      return
    }
    const target = url + path.slice(prefix.length)
    const outgoing = request(target, { method, headers }, (result) => {
      response.writeHead(Number(result.statusCode), result.headers)
      result.pipe(response)
    })
    incoming.pipe(outgoing)
  })
  return `http://127.0.0.1:${await listenOnLoopback(t, proxy)}${prefix}`
}

/** What a browser calls the service there. */
const address = await startPrefixProxy()

/** Rules that Swagger UI violates, where CSS cannot help: see README.md. */
const ofSwaggerUi = [
  'button-name',
  'heading-order',
  'label',
  'label-content-name-mismatch',
  'landmark-unique',
  'nested-interactive',
  'region',
  'select-name'
]

const looks = {
  'a desktop': desktop,
  'a desktop at 200 %': { viewport: { width: 720, height: 450 } },
  'a dark phone': { ...phone, colorScheme: 'dark' }
} as const

for (const [look, options] of Object.entries(looks)) {
  t.test(`on ${look}, everything fits, and CSS leaves no fault`, async (t) => {
    const { page, faults } = await openDocs(t, url, options)
    const fits = async () => {
      const { width } = options.viewport
      const content = await page.evaluate(
        () => document.documentElement.scrollWidth
      )
      t.equal(content, width)
    }
    await fits()
    await page.locator('.schemes .authorize').click()
    t.same(await violations(page, ofSwaggerUi), [], 'with the dialog')
    await page.locator('.close-modal').click()

    await authorize(page, key)
    await tryOut(page, 'createCategory')
    await execute(page, 'createCategory')
    await openOperation(page, 'getPet')
    await openSamples(page)
    await operation(page, 'createCategory')
      .getByRole('tab', { name: 'Schema' })
      .first()
      .click()
    t.same(await violations(page, ofSwaggerUi), [], 'with operations')
    await fits()

    await page.goto(`${url}/docs/guide`)
    t.same(await violations(page), [], 'in the guide')
    await fits()
    t.same(faults, [])
  })
}

t.test('behind a proxy, the page calls its deployment', async (t) => {
  const { page, faults } = await openDocs(t, address)
  await authorize(page, key)
  await tryOut(page, 'getPet')
  await page.locator('tr[data-param-name=petId] input').fill(petId)
  const pet = await execute(page, 'getPet')
  t.match(pet.body, `"id": ${petId},`)
  t.match(pet.body, `"categoryId": ${categoryId},`)

  await tryOut(page, 'createPet')
  const body = `{"name": "Milo", "categoryId": ${categoryId}}`
  const created = await execute(page, 'createPet', body)
  t.match(created, { status: '201', body: `"categoryId": ${categoryId},` })

  const guide = page.getByRole('link', { name: /^Guide/ })
  t.equal(await guide.getAttribute('href'), `${address}/docs/guide`)
  const document = page.getByRole('link', { name: /openapi.yaml/ })
  t.equal(await document.getAttribute('href'), `${address}/openapi.yaml`)
  const block = await openOperation(page, 'listCategories')
  await openSamples(page)
  const samples = await block.locator('.samples pre').allInnerTexts()
  t.match(samples, Array(4).fill(`${address}/v1/categories`))

  await page.goto(`${address}/docs/guide`)
  const [first] = await page.locator('pre').allTextContents()
  t.match(first, `export BASE_URL=${address}/v1`)
  t.same(faults, [])
})

/** Waits until the operation is open, and in view before anyone scrolls. */
async function showsOperation(page: Page, id: string): Promise<void> {
  const block = await isOpen(page, id)
  await page.waitForFunction(
    (element) => {
      const { top } = element?.getBoundingClientRect() ?? { top: Infinity }
      return top > 0 && top < innerHeight
    },
    await block.locator('.samples').elementHandle()
  )
}

t.test('a link leads to its operation, and one Back leaves', async (t) => {
  const { page, faults } = await openDocs(t, address, desktop)
  await page.goto(`${address}/docs/guide`)
  await page.evaluate((target) => {
    location.href = target
  }, `${address}/docs?from=mail#/Pets/createPet`)
  await showsOperation(page, 'createPet')
  await openOperation(page, 'cancelOrder')
  await page.locator('.opblock-tag').last().click()

  await page.goBack()
  t.equal(page.url(), `${address}/docs/guide`)
  t.same(faults, [])
})

t.test('a link on the page opens its operation, as Back does', async (t) => {
  const { page } = await openDocs(t, url, desktop)
  for (const id of ['Pets/createPet', 'Orders/cancelOrder']) {
    await page.evaluate((target) => {
      location.hash = target
    }, `#/${id}`)
    await showsOperation(page, id.replace(/.*[/]/, ''))
  }
  await page.goBack()
  await showsOperation(page, 'createPet')
})
