// What a reader of the docs page sees, and the screenshot of it in the README:
// run it with `npm test --prefix tools/docs-page`.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { Locator, Page } from 'playwright-core'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'
import { startService } from '../../test/support/service.ts'
import {
  desktop,
  openDocs,
  openOperation,
  operation,
  phone,
  violations
} from './browser.ts'

const { operations } = readApiDocument(api.openapi)
const { url, port } = await startService(t)
/** Without HTTPS, where browsers allow a page less than on 127.0.0.1. */
const insecureSite = `http://pets.test:${port}`

const allLanguages = ['curl', 'TypeScript', 'Python', 'Go']
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
    const { page, faults } = await openDocs(t, insecureSite)

    for (const { id } of operations) {
      const block = await openOperation(page, id)
      const languages = block.locator('.samples label')
      t.same(await languages.allInnerTexts(), allLanguages, id)
      t.match(await sample(block).innerText(), `${insecureSite}/v1/`)
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
      'even those of other operations'
    )
    t.notMatch(
      await block.innerText(),
      'x-codeSamples',
      'which the list of extensions leaves out'
    )
    t.same(faults, [])
  }
)

t.test('a button copies the code sample, even without HTTPS', async (t) => {
  const { page, faults } = await openDocs(t, insecureSite)
  const block = await openOperation(page, 'createPet')
  const copy = block.locator('.samples').getByRole('button', { name: 'Copy' })
  const body = block.getByRole('textbox', { name: 'Request body' })

  await block.getByRole('button', { name: 'Try it out' }).click()
  await copy.click()
  await body.fill('')
  await page.keyboard.press('Control+V')

  t.equal(await body.inputValue(), await sample(block).innerText())
  t.same(faults, [])
})

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
  'the filter finds operations by any words of their tag, method, path, text or names',
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
      durable: ['createMessage', 'createCategory', 'createPet'],
      // A parameter, a property, a status, a header, a schema.
      'limit cursor': ['listPets'],
      'post createdAt': ['createMessage'],
      'post 422': ['createMessage', 'createCategory', 'createPet'],
      'Location 201': ['createPet'],
      NewPet: ['createPet'],
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

/** The address in the picture. */
const site = 'http://localhost:3000'

/** Opens the page as the picture shows it. */
async function openForPicture(t: Test): Promise<Page> {
  const { page } = await openDocs(t, url, desktop)
  await page.route(`${site}/**`, async (route) => {
    const address = route.request().url().replace(site, url)
    await route.fulfill({ response: await route.fetch({ url: address }) })
  })
  await page.goto(`${site}/docs`)
  await openOperation(page, 'createCategory')
  await page.locator(':focus').blur()
  await page.mouse.move(0, 0)
  return page
}

/**
 * Returns a digest of what the page shows: its text and styles, not its pixels,
 * which depend on fonts and browser.
 */
async function fingerprintOf(page: Page): Promise<string> {
  const text = await page.locator('body').innerText()
  const shown = [text.replace(/\s+/g, ' ')]
  for (const name of ['swagger-ui.css', 'theme/page.css']) {
    const response = await fetch(`${url}/docs/static/${name}`)
    shown.push(await response.text())
  }
  return createHash('sha256').update(shown.join()).digest('hex')
}

t.test('docs/page.png shows the page as it is', async (t) => {
  const picture = 'docs/page.png'
  const fingerprintFile = `${picture}.sha256`
  const page = await openForPicture(t)
  const fingerprint = `${await fingerprintOf(page)}\n`
  const isCurrent =
    existsSync(fingerprintFile) &&
    readFileSync(fingerprintFile, 'utf8') === fingerprint

  if (!isCurrent) {
    await page.screenshot({ path: picture, animations: 'disabled' })
    writeFileSync(fingerprintFile, fingerprint)
  }
  t.ok(isCurrent, 'or both files are rewritten: commit them')
})
