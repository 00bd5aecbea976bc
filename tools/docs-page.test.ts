// The docs page in Chromium, of CHROMIUM or PATH.
import { execSync } from 'node:child_process'
import { chromium } from 'playwright-core'
import t from 'tap'
import { query } from '../test/support/database.ts'
import { list } from '../test/support/requests.ts'
import { startService } from '../test/support/service.ts'

const executablePath =
  process.env['CHROMIUM'] ??
  execSync('command -v chromium || command -v google-chrome').toString().trim()
// CI runs as root, where Chromium has no sandbox.
const args = ['--no-sandbox', '--disable-background-networking']

const service = await startService(t)
const browser = await chromium.launch({ executablePath, args })
t.teardown(() => browser.close())
const page = await browser.newPage()
/** Also requests to other hosts, which the page may not send. */
const faults: string[] = []
page.on('console', (message) => {
  if (message.type() === 'error') faults.push(message.text())
})
page.on('pageerror', (error) => faults.push(error.message))

/** Opens an operation, and executes its request. Returns what it shows. */
async function execute(operationId: string) {
  const operation = page.locator(`.opblock[id$="-${operationId}"]`)
  await operation.locator('.opblock-summary').click()
  await operation.getByRole('button', { name: 'Execute' }).click()
  return operation.locator('.responses-wrapper')
}

t.test('an API key that is entered is used, and kept', async (t) => {
  await page.goto('about:blank')
  await page.goto(`${service.url}/docs`)
  await page.locator('.schemes .authorize').click()
  const dialog = page.locator('.modal-ux')
  await dialog.getByLabel('Value').fill(service.key)
  await dialog.getByText('Authorize', { exact: true }).click()
  await page.reload()

  const created = await execute('createCategory')
  await created.getByText('"id": 1').waitFor()
  t.match(await created.innerText(), 'PowerShell')
  t.equal((await list(service)).json<unknown[]>().length, 1)
  t.same(faults, [])
})

t.test('a list of 10,000 rows is plain text, which is fast', async (t) => {
  await query(
    service.databaseUrl,
    `INSERT INTO categories (name)
     SELECT 'Category' FROM generate_series(1, 10000)`
  )
  const listed = await execute('listCategories')
  const body = listed.locator('pre', { hasText: '"id": 10001' })
  t.notMatch(await body.innerHTML(), '<span')
})

t.test('one press of Back leaves the page', async (t) => {
  await page.goBack()
  t.equal(page.url(), 'about:blank')
})
