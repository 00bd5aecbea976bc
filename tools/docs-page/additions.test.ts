// What our scripts add to Swagger UI: run it with
// `npm test --prefix tools/docs-page`.
import type { Page } from 'playwright-core'
import t from 'tap'
import { query } from '../../test/support/database.ts'
import { startService } from '../../test/support/service.ts'
import {
  authorize,
  execute,
  openDocs,
  openOperation,
  operation,
  tryOut
} from './browser.ts'

const { url, key, databaseUrl, port } = await startService(t)

/** Ids that JSON.parse() rounds. */
const categoryId = '9223372036854775807'
const petId = '9007199254740993'
await query(
  databaseUrl,
  `INSERT INTO categories (id, name) VALUES (${categoryId}, 'Big');
  INSERT INTO pets (id, name, category_id, status)
  VALUES (${petId}, 'Bella', ${categoryId}, 'sold')`
)

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

t.test('a pasted header is taken as the key in it', async (t) => {
  const { page } = await openDocs(t, url)
  await tryOut(page, 'listCategories')
  for (const pasted of [
    `Bearer ${key}`,
    `-H "Authorization: Bearer ${key}"`,
    ` ${key}\n`
  ]) {
    await authorize(page, pasted)
    const { status } = await execute(page, 'listCategories')
    t.equal(status, '200', pasted.replace(key, 'KEY'))
  }
})

t.test('the dialog says how to get a key', async (t) => {
  const production = await startService(t, {
    config: { ENVIRONMENT: 'production' }
  })
  for (const [site, help] of [
    [url, 'npm run keys -- create --name me'],
    [production.url, 'Ask the operator: Pet Categories team']
  ] as const) {
    const { page } = await openDocs(t, site)
    await page.locator('.schemes .authorize').click()
    t.match(await page.getByRole('dialog').innerText(), help)
  }
})

t.test('after Enter, the focus stays in the dialog', async (t) => {
  const { page } = await openDocs(t, url)
  await page.locator('.schemes .authorize').click()
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Logout' }).waitFor()
  const focus = page.locator(':focus')
  t.equal(await focus.innerText(), 'Close')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.equal(await focus.innerText(), 'Authorize', 'and returns to the page')
})

t.test(
  'an open operation shows the fields of its body with their limits',
  async (t) => {
    const { page } = await openDocs(t, url)
    const block = await openOperation(page, 'createPet')
    const fields = await block.locator('.fields').innerText()
    t.match(fields, 'name string, required, 1 to 255 characters')
    t.match(fields, 'categoryId int64, required')
    t.match(fields, 'available | pending | sold, default available')

    const list = await openOperation(page, 'listPets')
    const limit = list.locator('tr[data-param-name=limit]')
    t.match(await limit.innerText(), /minimum.*1[^]*maximum.*\d/)
  }
)

t.test(
  'a deprecated operation starts with its dates and its successor',
  async (t) => {
    const { page } = await openDocs(t, url)
    const block = await openOperation(page, 'getPet')
    const line = block.locator('.deprecation')
    t.equal(
      await line.innerText(),
      'Deprecated since 2026-11-22. It works until 2030-12-05. ' +
        'Its successor is listPets.'
    )
    t.notMatch(await block.innerText(), /x-sunset|x-successor/)

    await line.getByRole('link', { name: 'listPets' }).click()
    await isOpen(page, 'listPets')
    t.match(page.url(), /#\/Pets\/listPets$/)
  }
)

/** Waits until an operation is open. */
const isOpen = (page: Page, id: string) =>
  operation(page, id).getByRole('button', { name: 'Try it out' }).waitFor()

t.test('links lead to the operations that texts name', async (t) => {
  const { page, faults } = await openDocs(t, `http://pets.test:${port}`)
  const about = page.locator('.info')
  await about.getByRole('link', { name: 'createMessage' }).click()
  await isOpen(page, 'createMessage')

  const createPet = await openOperation(page, 'createPet')
  const next = createPet.locator('.next')
  t.match(await next.innerText(), 'getPet: Pass the id of the created pet')
  await next.getByRole('link', { name: 'getPet' }).click()
  await isOpen(page, 'getPet')
  t.same(faults, [])
})

t.test('without JavaScript, the page says so', async (t) => {
  const { page } = await openDocs(t, url)
  const context = await page.context().browser()?.newContext({
    javaScriptEnabled: false
  })
  const plain = await context?.newPage()
  await plain?.goto(`${url}/docs`)
  const text = await plain?.locator('body').innerText()
  t.match(text, 'This page needs JavaScript.')
  t.match(text, '/openapi.yaml')
})
