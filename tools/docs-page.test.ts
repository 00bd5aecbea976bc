// The docs page in Chromium.
import { execSync } from 'node:child_process'
import { chromium } from 'playwright-core'
import t from 'tap'
import { listCategories } from '../test/support/requests.ts'
import { startService } from '../test/support/service.ts'

const executablePath = execSync(
  'command -v chromium || command -v google-chrome'
)
  .toString()
  .trim()
// CI runs as root, where Chromium has no sandbox.
const args = ['--no-sandbox', '--disable-background-networking']

t.test('an API key that is entered is kept, and used', async (t) => {
  const service = await startService(t)
  const browser = await chromium.launch({ executablePath, args })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  /** Also requests to other hosts, which the page may not send. */
  const browserErrors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') browserErrors.push(message.text())
  })
  page.on('pageerror', (error) => browserErrors.push(error.message))

  await page.goto('about:blank')
  await page.goto(`${service.url}/docs`)
  await page.locator('.schemes .authorize').click()
  const dialog = page.locator('.modal-ux')
  await dialog.getByLabel('Value').fill(service.apiKey)
  await dialog.getByText('Authorize', { exact: true }).click()
  await page.reload()

  await page.locator('[id$="-createCategory"] .opblock-summary').click()
  await page.getByRole('button', { name: 'Execute' }).click()
  await page.getByText('PowerShell').waitFor()
  const body = page.locator('pre', { hasText: '"id": 1,' })
  t.notMatch(await body.innerHTML(), '<span', 'colors freeze on long lists')
  t.equal((await listCategories(service)).json<unknown[]>().length, 1)
  t.same(browserErrors, [])

  await page.goBack()
  t.equal(page.url(), 'about:blank', 'one press of Back leaves the page')
})
