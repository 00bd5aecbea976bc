// The docs page in Chromium: run it with `npm test --prefix tools/docs-page`.
import type { Page } from 'playwright-core'
import t from 'tap'
import { query } from '../../test/support/database.ts'
import { startService } from '../../test/support/service.ts'
import {
  authorize,
  desktop,
  enterKey,
  execute,
  openDetails,
  openDocs,
  openOperation,
  operation,
  phone,
  tryOut,
  violations
} from './browser.ts'

const { url, key, databaseUrl, port } = await startService(t)
/** Without HTTPS, where browsers allow a page less than on 127.0.0.1. */
const insecureSite = `http://pets.test:${port}`

/** Ids that JSON.parse() rounds. */
const categoryId = '9223372036854775807'
const petId = '9007199254740993'
await query(
  databaseUrl,
  `INSERT INTO categories (id, name) VALUES (${categoryId}, 'Big');
  INSERT INTO pets (id, name, category_id, status)
  VALUES (${petId}, 'Bella', ${categoryId}, 'sold')`
)

for (const [device, options] of Object.entries({ desktop, phone })) {
  t.test(
    `on a ${device}, the page fits, and axe finds no violations`,
    async (t) => {
      const { page, faults } = await openDocs(t, url, options)
      const fits = async () => {
        const { width } = options.viewport
        const content = await page.evaluate(
          () => document.documentElement.scrollWidth
        )
        t.equal(content, width)
      }
      const banner = await page.getByRole('banner').innerText()
      t.match(banner, /^Pet Categories · development\s/)
      await fits()

      await page.locator('.schemes .authorize').click()
      t.same(await violations(page), [], 'with the dialog')
      await page.keyboard.press('Escape')

      await authorize(page, key)
      for (const id of ['listCategories', 'createCategory', 'createMessage']) {
        await tryOut(page, id)
        await execute(page, id)
      }
      await openOperation(page, 'createPet')
      await openDetails(page)
      t.same(await violations(page), [], 'with samples and responses')
      for (const tab of await page.getByRole('tab', { name: 'Schema' }).all())
        await tab.click()
      t.same(await violations(page), [], 'with schemas')
      await fits()
      t.same(faults, [])
    }
  )
}

t.test('Try it out sends and displays ids above 2^53 exactly', async (t) => {
  const { page, faults } = await openDocs(t, url)
  await authorize(page, key)

  await tryOut(page, 'getPet')
  const parameter = page.locator('tr[data-param-name=petId] input')
  await parameter.fill(petId)
  const pet = await execute(page, 'getPet')
  t.match(pet.body, `"id": ${petId},`)
  t.match(pet.body, `"categoryId": ${categoryId},`)

  await tryOut(page, 'createPet')
  const body = `{"name": "Milo", "categoryId": ${categoryId}}`
  const created = await execute(page, 'createPet', body)
  t.match(created, { status: '201', body: `"categoryId": ${categoryId},` })
  t.same(faults, [])
})

t.test(
  'over plain HTTP, Try it out works, and keeps the key in its tab',
  async (t) => {
    const { page, faults } = await openDocs(t, insecureSite)
    await authorize(page, key)
    await tryOut(page, 'createCategory')
    t.match(await execute(page, 'createCategory'), {
      status: '201',
      body: /"name": "Rabbit"/
    })
    await page.reload()
    await tryOut(page, 'listCategories')
    t.match(await execute(page, 'listCategories'), {
      status: '200',
      body: /"name": "Rabbit"/
    })
    await openDetails(page)
    const block = operation(page, 'listCategories')
    const shown = await block.innerText()
    t.match(shown, 'categories:read', 'the scope')
    const samples = await block.locator('.samples pre').allInnerTexts()
    t.match(samples, Array(4).fill(`${insecureSite}/v1`))
    t.match(shown, '-H "Authorization: Bearer $API_KEY"')
    t.notMatch(shown, key)

    const otherTab = await page.context().newPage()
    await otherTab.goto(`${insecureSite}/docs`)
    await tryOut(otherTab, 'listCategories')
    t.match(await execute(otherTab, 'listCategories'), { status: '401' })
    t.same(faults, [])
  }
)

t.test('Authorize rejects a key that is not valid', async (t) => {
  const { page } = await openDocs(t, url)
  for (const [invalid, message] of [
    ['petcat_0', 'This key is not valid'],
    ['鍵', 'ISO-8859-1']
  ] as const) {
    const dialog = await enterKey(page, invalid)
    await dialog.getByRole('alert').filter({ hasText: message }).waitFor()
    t.same(await violations(page), [], message)
    await page.keyboard.press('Escape')
  }
  await authorize(page, key)
})

t.test('a create that is executed again creates nothing else', async (t) => {
  const { page, faults } = await openDocs(t, insecureSite)
  await authorize(page, key)
  await tryOut(page, 'createPet')
  const body = `{"name": "Twice", "categoryId": ${categoryId}}`
  const first = await execute(page, 'createPet', body)
  t.match(first, { status: '201' })
  t.same(await execute(page, 'createPet', body), first)

  await page.getByRole('button', { name: 'New Idempotency-Key' }).click()
  t.not((await execute(page, 'createPet', body)).body, first.body)
  t.same(faults, [])
})

/** Waits until an operation is open. */
const isOpen = (page: Page, id: string) =>
  operation(page, id).getByRole('button', { name: 'Try it out' }).waitFor()

t.test('a link of the list opens its operation, as a hash does', async (t) => {
  const { page, faults } = await openDocs(t, insecureSite, desktop)
  const link = page.getByRole('navigation').getByText('Send a message')
  for (const time of ['first', 'second']) {
    await link.click()
    await isOpen(page, 'createMessage')
    await page.waitForFunction(() => scrollY > 0)
    t.match(page.url(), /#\/Quickstart\/createMessage$/, time)
    await page.evaluate(() => scrollTo(0, 0))
  }

  await page.reload()
  await isOpen(page, 'createMessage')
  await page.evaluate(() => {
    location.hash = '#/Pets/createPet'
  })
  await isOpen(page, 'createPet')
  t.same(faults, [])
})
