// Takes the picture of the docs page in the README: run it with
// `npm run picture --prefix tools/docs-page`.
import t from 'tap'
import { startService } from '../../test/support/service.ts'
import { desktop, openDocs, openOperation } from './browser.ts'

/** The address in the picture. */
const site = 'http://localhost:3000'

const { url } = await startService(t)
const { page } = await openDocs(t, url, desktop)
await page.route(`${site}/**`, async (route) => {
  const address = route.request().url().replace(site, url)
  await route.fulfill({ response: await route.fetch({ url: address }) })
})
await page.goto(`${site}/docs`)
await openOperation(page, 'createCategory')
await page.locator(':focus').blur()
await page.mouse.move(0, 0)
await page.locator('.scheme-container').evaluate((bar) => {
  bar.scrollIntoView()
})
await page.screenshot({ path: 'docs/page.png', animations: 'disabled' })
t.pass('docs/page.png is new')
