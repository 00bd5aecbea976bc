// What a reader of the docs page sees, and the screenshot of it in the README: run it with `npm run docs:check`.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { Locator } from 'playwright-core'
import { readApiDocument } from '../../../src/openapi/document.ts'
import { startService } from '../../../test/support/service.ts'
import {
  desktop,
  openDocs,
  openOperation,
  operation,
  phone,
  violations
} from './browser.ts'

const { operations } = readApiDocument()
const { url, port } = await startService(t)
const sample = (block: Locator) => block.locator('.samples pre')
const top = async (element: Locator) =>
  (await element.first().boundingBox())?.y ?? Infinity

for (const [device, options] of Object.entries({ desktop, phone })) {
  t.test(
    `on a ${device}, the operations come first, and each open operation fits two screens`,
    async (t) => {
      const { page } = await openDocs(t, url, options)
      const screen = options.viewport.height
      t.ok(
        (await top(page.locator('.schemes .authorize'))) < screen,
        'Authorize is on the first screen'
      )
      t.ok(
        (await top(page.locator('.opblock'))) < screen,
        'the first operation is on the first screen'
      )
      for (const { id } of operations) {
        const block = await openOperation(page, id)
        const height = (await block.boundingBox())?.height ?? Infinity
        t.ok(height <= 2 * screen, `${id} has ${height} px`)
      }
    }
  )
}

t.test(
  'one click shows code samples for this deployment, in a language that all operations keep',
  async (t) => {
    const site = `http://pets.test:${port}`
    const { page, faults } = await openDocs(t, site)
    for (const { id } of operations) {
      const block = await openOperation(page, id)
      t.same(
        await block.locator('.samples label').allInnerTexts(),
        ['curl', 'TypeScript', 'Python', 'Go'],
        id
      )
      t.match(await sample(block).innerText(), `${site}/v1/`)
    }
    const block = operation(page, 'createPet')
    await block.getByRole('radio', { name: 'Python' }).check()
    await page.keyboard.press('ArrowRight')
    t.match(
      await sample(block).innerText(),
      'package main',
      'the right arrow leads to the next language'
    )
    t.match(
      await sample(operation(page, 'listPets')).innerText(),
      'package main',
      'also of other operations'
    )
    t.notMatch(
      await block.innerText(),
      'x-codeSamples',
      'which the list of extensions leaves out'
    )

    await block.getByRole('button', { name: 'Try it out' }).click()
    await block
      .locator('.samples')
      .getByRole('button', { name: 'Copy' })
      .click()
    const body = block.getByRole('textbox', { name: 'Request body' })
    await body.fill('')
    await page.keyboard.press('Control+V')
    t.equal(
      await body.inputValue(),
      await sample(block).innerText(),
      'the button copies the sample'
    )
    t.same(faults, [])
  }
)

t.test(
  'a response is one line, which opens its example and headers',
  async (t) => {
    const { page } = await openDocs(t, url)
    const block = await openOperation(page, 'createCategory')
    const line = (text: string) =>
      block.locator('summary', { hasText: text }).first()
    t.ok(
      await block.getByText('"id"').first().isVisible(),
      'the success is open'
    )
    t.notOk(
      await block.getByText('payload_too_large').isVisible(),
      'an error is not'
    )
    await line('413').click()
    await line('Headers').click()
    t.ok(await block.getByText('payload_too_large').isVisible())
    t.ok(
      await block
        .getByRole('cell', { name: 'RateLimit-Policy' })
        .first()
        .isVisible()
    )
    t.same(await violations(page), [])
  }
)

t.test(
  'the filter finds operations by any words of their tag, method, path or text',
  async (t) => {
    const { page, faults } = await openDocs(t, url)
    const shown = () =>
      page
        .locator('.opblock')
        .evaluateAll((all) => all.map(({ id }) => id.split('-').at(-1)))
    const all = await shown()
    for (const [words, expected] of Object.entries({
      orders: ['listOrders', 'cancelOrder'],
      'post CATEGORY': ['createCategory', 'createPet'],
      'DELETE store': ['cancelOrder'],
      durable: ['createCategory', 'createPet', 'createMessage'],
      'no such words': [],
      '': all
    })) {
      await page
        .getByRole('searchbox', { name: 'Filter operations' })
        .fill(words)
      t.same(await shown(), expected, words)
      if (expected.length === 0) t.same(await violations(page), [])
    }
    t.same(faults, [])
  }
)

t.test(
  'each operation has a link, which opens it, and so do the files of the OpenAPI document',
  async (t) => {
    const { page } = await openDocs(t, url)
    for (const { id } of operations) {
      const link = operation(page, id).getByRole('link')
      const address = new URL(
        (await link.getAttribute('href')) ?? '',
        `${url}/docs`
      ).href
      await link.click()
      t.equal(page.url(), address, 'the click shows it as the address')
      await page.reload()
      await operation(page, id)
        .getByRole('button', { name: 'Try it out' })
        .waitFor()
      t.equal(await page.getByRole('button', { name: 'Try it out' }).count(), 1)
    }
    for (const file of ['/openapi.yaml', '/openapi.json']) {
      t.equal(
        await page.getByRole('link', { name: file }).getAttribute('href'),
        file
      )
    }
  }
)

t.test(
  'the page offers this deployment only, names schemas, and asks for the key alone',
  async (t) => {
    const { page } = await openDocs(t, url)
    t.equal(await page.getByRole('combobox').count(), 0, 'no list of servers')
    t.match(await page.locator('.models').innerText(), /NewCategory/)
    await page.locator('.schemes .authorize').click()
    t.match(await page.getByRole('dialog').innerText(), 'Paste only the key')
  }
)

t.test('docs/page.png shows the page as it is', async (t) => {
  const file = new URL('../../../docs/page.png', import.meta.url)
  const { page } = await openDocs(t, url, desktop)
  const site = 'http://localhost:3000'
  await page.route(`${site}/**`, async (route) => {
    await route.fulfill({
      response: await route.fetch({
        url: route.request().url().replace(site, url)
      })
    })
  })
  await page.goto(`${site}/docs`)
  await openOperation(page, 'createCategory')
  await page.locator(':focus').blur()
  await page.mouse.move(0, 0)
  // Not the pixels, which depend on fonts and browser. The hash of what they show follows the end of the image.
  const shown = [(await page.locator('body').innerText()).replace(/\s+/g, ' ')]
  for (const name of ['swagger-ui.css', 'theme/page.css']) {
    shown.push(await (await fetch(`${url}/docs/static/${name}`)).text())
  }
  const hash = createHash('sha256').update(shown.join()).digest()
  const isCurrent =
    existsSync(file) && readFileSync(file).subarray(-hash.length).equals(hash)
  if (!isCurrent)
    writeFileSync(
      file,
      Buffer.concat([await page.screenshot({ animations: 'disabled' }), hash])
    )
  t.ok(isCurrent, 'or is rewritten: commit it')
})
