// The guide for API clients in Chromium: run it with
// `npm test --prefix tools/docs-page`.
import type { Page } from 'playwright-core'
import t from 'tap'
import { startService } from '../../test/support/service.ts'
import { desktop, openDocs, phone, violations } from './browser.ts'

const { url } = await startService(t)

const narrow = { viewport: { width: 320, height: 640 } }
const light = {
  colorScheme: 'light',
  background: 'rgb(255, 255, 255)'
} as const
const dark = {
  colorScheme: 'dark',
  background: 'rgb(18, 18, 18)'
} as const
const looks = {
  'a light desktop': { ...desktop, ...light },
  'a dark desktop': { ...desktop, ...dark },
  'a dark phone': { ...phone, ...dark },
  '320 px': { ...narrow, ...light }
}

const contentWidth = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth)

const backgroundOf = (page: Page) =>
  page.evaluate(() => getComputedStyle(document.body).backgroundColor)

for (const [look, { background, ...options }] of Object.entries(looks)) {
  t.test(
    `on ${look}, the guide fits the width and axe finds no violations`,
    async (t) => {
      const { page, faults } = await openDocs(t, url, options)
      await page.goto(`${url}/docs/guide`)
      t.equal(await contentWidth(page), options.viewport.width)
      t.equal(await backgroundOf(page), background)
      t.same(await violations(page), [])
      t.same(faults, [])
    }
  )
}

t.test('the docs page leads to the guide', async (t) => {
  const { page, faults } = await openDocs(t, url)
  const link = page.getByRole('link', { name: /^Guide/ })
  t.equal(await link.getAttribute('href'), `${url}/docs/guide`)
  t.same(faults, [])
})

t.test('a button copies the code of the guide', async (t) => {
  const { page } = await openDocs(t, url)
  await page.goto(`${url}/docs/guide`)
  const buttons = page.getByRole('button', { name: 'Copy' })
  t.equal(await buttons.count(), await page.locator('pre').count())
  await buttons.first().click()

  // Pastes it, for which a page needs no permission.
  await page.goto(`${url}/docs`)
  await page.locator('.schemes .authorize').click()
  const field = page.getByLabel('Value')
  await field.press('Control+V')
  t.match(await field.inputValue(), `export BASE_URL=${url}/v1`)
})
