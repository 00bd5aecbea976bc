// The docs page in a real Chromium: run it by `npm run docs:check`.
import t from 'tap'
import { dropDatabase, urlOf } from '../../test/support/database.ts'
import { startService } from '../../test/support/service.ts'
import { authorize, execute, openBrowser, openDocs, operation, tryOut, violations } from './browser.ts'

const isDark = () => getComputedStyle(document.documentElement).colorScheme === 'dark'
const operationIds = ['listCategories', 'createCategory', 'createMessage']

const desktop = { width: 1400, height: 1000 }
const phone = { width: 390, height: 844 }
const colors = { development: 'rgb(43, 92, 138)', staging: 'rgb(138, 90, 0)', production: 'rgb(155, 28, 28)' }
const looks = {
  'a desktop, light': { environment: 'development', viewport: desktop, colorScheme: 'light' },
  'a desktop, dark': { environment: 'staging', viewport: desktop, colorScheme: 'dark' },
  'a phone, light': {
    environment: 'production',
    viewport: phone,
    colorScheme: 'light',
    isMobile: true,
    hasTouch: true
  },
  'a phone, dark': { environment: 'development', viewport: phone, colorScheme: 'dark', isMobile: true, hasTouch: true }
} as const

for (const [look, { environment, ...options }] of Object.entries(looks)) {
  t.test(`on ${look}, nothing fails, nothing is too wide, and axe finds nothing, whatever is open`, async (t) => {
    const { url, key } = await startService(t, { config: { ENVIRONMENT: environment } })
    const { page, faults } = await openDocs(await openBrowser(t), url, options)
    t.equal(await page.evaluate(isDark), options.colorScheme === 'dark')
    const banner = page.getByRole('banner')
    t.equal((await banner.innerText()).trim(), `Pet Categories · ${environment}`)
    t.equal(await banner.evaluate((element) => getComputedStyle(element).backgroundColor), colors[environment])
    const { width } = options.viewport
    const contentWidth = () => page.evaluate(() => document.documentElement.scrollWidth)
    t.same(await violations(page), [], 'closed')
    t.equal(await contentWidth(), width)

    await page.locator('.schemes .authorize').click()
    t.same(await violations(page), [], 'with the dialog')
    const dialog = await page.locator('.modal-ux').boundingBox()
    t.ok(dialog !== null && dialog.x >= 0 && dialog.x + dialog.width <= width)
    await page.keyboard.press('Escape')

    await authorize(page, key)
    for (const id of operationIds) {
      await tryOut(page, id)
      await execute(page, id)
    }
    t.same(await violations(page), [], 'with answers and examples')
    for (const tab of await page.getByRole('tab', { name: 'Schema' }).all()) await tab.click()
    t.same(await violations(page), [], 'with schemas')
    t.equal(await contentWidth(), width)
    t.same(faults, [])
  })
}

t.test('a key that was entered lists, creates and sends, and is still there after a reload', async (t) => {
  const { url, key } = await startService(t)
  const { page, faults } = await openDocs(await openBrowser(t), url)
  await authorize(page, key)
  await tryOut(page, 'listCategories')
  t.same(await execute(page, 'listCategories'), { status: '200', body: '[]' })
  await tryOut(page, 'createCategory')
  t.match(await execute(page, 'createCategory'), { status: '201', body: /"name": "Rabbit"/ })
  await tryOut(page, 'createMessage')
  t.match(await execute(page, 'createMessage'), { status: '202', body: /"status": "queued"/ })

  await page.reload()
  await tryOut(page, 'listCategories')
  t.match(await execute(page, 'listCategories'), { status: '200', body: /"name": "Rabbit"/ })
  t.same(faults, [])
})

t.test('a refusal is shown with its status and its Error', async (t) => {
  const { url, key, databaseUrl } = await startService(t, { config: { BODY_LIMIT: 100 } })
  const { page, faults } = await openDocs(await openBrowser(t), url)
  await tryOut(page, 'createCategory')
  t.match(await execute(page, 'createCategory'), { status: '401', body: /"code": "unauthorized"/ }, 'without a key')
  await authorize(page, 'petcat_wrong')
  t.match(await execute(page, 'createCategory'), { status: '401', body: /"code": "unauthorized"/ }, 'with a wrong key')
  await authorize(page, key)
  t.match(await execute(page, 'createCategory', '{"name":""}'), { status: '400', body: /body\.name must have/ })
  const large = JSON.stringify({ name: 'x'.repeat(100) })
  t.match(await execute(page, 'createCategory', large), { status: '413', body: /"code": "payload_too_large"/ })
  await dropDatabase(urlOf(databaseUrl, 'postgres'), new URL(databaseUrl).pathname.slice(1))
  t.match(await execute(page, 'createCategory', '{"name":"Cat"}'), { status: '503', body: /"code": "unavailable"/ })
  t.same(
    faults.map((fault) => /status of (\d+)/.exec(fault)?.[1] ?? fault),
    ['401', '401', '400', '413', '503'],
    'the console has what the browser itself says of them, and nothing else'
  )
})

t.test('everything is done by keyboard, and the focus is seen', async (t) => {
  const { url, key } = await startService(t)
  const { page, faults } = await openDocs(await openBrowser(t), url)
  const focus = page.locator(':focus')
  async function tabTo(name: RegExp) {
    for (let presses = 0; presses < 100; presses++) {
      await page.keyboard.press('Tab')
      t.match(await focus.evaluate((element) => getComputedStyle(element).outline), /solid 3px/, 'seen')
      if (name.test(await focus.evaluate((element) => (element.ariaLabel ?? element.textContent ?? '').trim()))) return
    }
    t.fail(`${name} is out of reach`)
  }
  await tabTo(/^Authorize$/)
  await page.keyboard.press('Enter')
  t.ok(await focus.evaluate((element) => element.matches('dialog input')), 'the dialog has the focus')
  for (let presses = 0; presses < 6; presses++) {
    await page.keyboard.press('Tab')
    // Between the last and the first element of the dialog, the browser's own controls have the focus.
    t.ok(await page.evaluate(() => document.activeElement?.matches('body, dialog *')), 'and keeps it')
  }
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.equal(await focus.innerText(), 'Authorize', 'and gives it back')

  await page.keyboard.press('Enter')
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Logout' }).waitFor()
  await page.keyboard.press('Escape')
  await tabTo(/List all categories/)
  await page.keyboard.press('Enter')
  await tabTo(/^Try it out$/)
  await page.keyboard.press('Enter')
  await tabTo(/^Execute$/)
  await page.keyboard.press('Enter')
  t.equal(
    await operation(page, 'listCategories').locator('.live-responses-table .response-col_status').last().innerText(),
    '200'
  )
  t.same(faults, [])
})

t.test('an operation has a link, which opens it', async (t) => {
  const { url } = await startService(t)
  const { page } = await openDocs(await openBrowser(t), url)
  const opened = page.context().waitForEvent('page')
  await operation(page, 'createMessage').getByRole('link').click({ button: 'middle' })
  const tab = await opened
  t.equal(tab.url(), `${url}/docs#/Quickstart/createMessage`)
  await operation(tab, 'createMessage').getByRole('button', { name: 'Try it out' }).waitFor()
})

t.test('the page links to the OpenAPI document, and offers no other deployment', async (t) => {
  const { url } = await startService(t)
  const { page } = await openDocs(await openBrowser(t), url)
  for (const file of ['/openapi.yaml', '/openapi.json']) {
    t.equal(await page.getByRole('link', { name: file }).getAttribute('href'), file)
  }
  t.equal(await page.locator('.servers').count(), 0)
})

t.test('a switch changes between light and dark', async (t) => {
  const { url } = await startService(t)
  const { page } = await openDocs(await openBrowser(t), url, { colorScheme: 'light' })
  await page.getByRole('button', { name: 'Switch to dark mode' }).click()
  t.ok(await page.evaluate(isDark))
  await page.getByRole('button', { name: 'Switch to light mode' }).click()
  t.notOk(await page.evaluate(isDark))
})

t.test('a deprecated operation is shown as one, with its x-sunset', async (t) => {
  const { url } = await startService(t)
  const browser = await openBrowser(t)
  const { page } = await openDocs(browser, url)
  await page.route('**/docs/json', async (route) => {
    const response = await route.fetch()
    const document = (await response.json()) as { paths: Record<string, Record<string, object>> }
    Object.assign(document.paths['/messages']?.['post'] ?? {}, { deprecated: true, 'x-sunset': '2027-06-30' })
    await route.fulfill({ response, json: document })
  })
  await page.reload()
  const block = operation(page, 'createMessage')
  await block.locator('.opblock-summary-control').click()
  t.match(await block.innerText(), 'Deprecated')
  t.match(await block.innerText(), /x-sunset\s+"?2027-06-30/)
  t.same(await violations(page), [])
})

t.test('the page works over plain HTTP at another host name, as behind a proxy', async (t) => {
  const { port, key } = await startService(t)
  const { page, faults } = await openDocs(await openBrowser(t), `http://pets.test:${port}`)
  await authorize(page, key)
  await tryOut(page, 'listCategories')
  t.match(await execute(page, 'listCategories'), { status: '200' })
  t.same(faults, [])
})
