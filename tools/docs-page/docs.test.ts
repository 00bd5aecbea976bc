// The docs page in Chromium: run it with `npm test --prefix tools/docs-page`.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startService } from '../../test/support/service.ts'
import {
  authorize,
  desktop,
  execute,
  openDetails,
  openDocs,
  operation,
  phone,
  tryOut,
  violations
} from './browser.ts'

const looks = {
  'a light desktop': {
    ...desktop,
    environment: 'development',
    colorScheme: 'light'
  },
  'a light phone': {
    ...phone,
    environment: 'production',
    colorScheme: 'light'
  },
  'a dark phone': { ...phone, environment: 'staging', colorScheme: 'dark' },
  'a dark screen of 320 px': {
    viewport: { width: 320, height: 640 },
    environment: 'development',
    colorScheme: 'dark'
  }
} as const

for (const [look, { environment, ...options }] of Object.entries(looks)) {
  t.test(
    `on ${look}, the page fits the width and axe finds no violations, whatever is open`,
    async (t) => {
      const { url, key } = await startService(t, {
        config: { ENVIRONMENT: environment }
      })
      const { page, faults } = await openDocs(t, url, options)
      const { width } = options.viewport
      const contentWidth = () =>
        page.evaluate(() => document.documentElement.scrollWidth)
      t.equal(
        (await page.getByRole('banner').innerText()).trim(),
        `Pet Categories · ${environment}`
      )
      t.equal(await contentWidth(), width)

      await page.locator('.schemes .authorize').click()
      t.same(await violations(page), [], 'with the dialog')
      const dialog = await page.locator('.modal-ux').boundingBox()
      t.ok(dialog !== null && dialog.x >= 0 && dialog.x + dialog.width <= width)
      await page.keyboard.press('Escape')

      await authorize(page, key)
      for (const id of ['listCategories', 'createCategory', 'createMessage']) {
        await tryOut(page, id)
        await execute(page, id)
      }
      await openDetails(page)
      t.same(await violations(page), [], 'with responses and examples')
      for (const tab of await page.getByRole('tab', { name: 'Schema' }).all())
        await tab.click()
      await page.getByRole('radio', { name: 'Go' }).first().check()
      t.same(await violations(page), [], 'with schemas and long samples')
      t.equal(await contentWidth(), width)
      t.same(faults, [])
    }
  )
}

t.test('violations are those of the page after its transitions', async (t) => {
  const { url } = await startService(t)
  const { page } = await openDocs(t, url, { ...phone, colorScheme: 'dark' })
  await tryOut(page, 'createMessage')
  const button = operation(page, 'createMessage').locator('.execute')
  const opacity = await button.evaluate((element) => {
    element.setAttribute('disabled', '')
    for (const transition of element.getAnimations()) transition.finish()
    element.style.transitionDuration = '3s'
    element.removeAttribute('disabled')
    return Number(getComputedStyle(element).opacity)
  })
  t.ok(opacity < 1, 'the button is in transition')
  t.same(await violations(page), [])
})

t.test(
  'Try it out works over plain HTTP at another host name, and keeps the key after a reload',
  async (t) => {
    const { port, key } = await startService(t)
    const { page, faults } = await openDocs(t, `http://pets.test:${port}`)
    await authorize(page, key)
    await tryOut(page, 'createCategory')
    t.match(await execute(page, 'createCategory'), {
      status: '201',
      body: /"name": "Rabbit"/
    })
    await tryOut(page, 'createMessage')
    t.match(await execute(page, 'createMessage'), {
      status: '202',
      body: /"status": "queued"/
    })
    await page.reload()
    await tryOut(page, 'listCategories')
    t.match(await execute(page, 'listCategories'), {
      status: '200',
      body: /"name": "Rabbit"/
    })
    t.same(faults, [])
  }
)

t.test('the page displays the status and body of an error', async (t) => {
  const { url, key } = await startService(t)
  const { page, faults } = await openDocs(t, url)
  await tryOut(page, 'createCategory')
  t.match(
    await execute(page, 'createCategory'),
    { status: '401', body: /"code": "unauthorized"/ },
    'without a key'
  )
  await authorize(page, 'petcat_wrong')
  t.match(
    await execute(page, 'createCategory'),
    { status: '401' },
    'with a wrong key'
  )
  await authorize(page, key)
  t.match(await execute(page, 'createCategory', '{"name":""}'), {
    status: '400',
    body: /"code": "invalid_request"/
  })
  const statuses = faults.map(
    (fault) => /status of (\d+)/.exec(fault)?.[1] ?? fault
  )
  t.same(
    statuses,
    ['401', '401', '400'],
    'the console has the messages of the browser and no others'
  )
})

/** The element that has the focus. */
const focusOf = (page: Page) => page.locator(':focus')

/** Presses Tab until an element of this name has the focus, and shows it. */
async function tabTo(t: Test, page: Page, name: RegExp): Promise<void> {
  const focus = focusOf(page)
  for (let presses = 0; presses < 100; presses++) {
    await page.keyboard.press('Tab')
    const { outline, text } = await focus.evaluate((element) => ({
      outline: getComputedStyle(element).outline,
      text: element.ariaLabel ?? element.textContent ?? ''
    }))
    t.match(outline, /solid 3px/, 'visible')
    if (name.test(text.trim())) return
  }
  t.fail(`${name} is out of reach`)
}

/** Checks that an open dialog has the focus, and keeps it. */
async function keepsFocus(t: Test, page: Page): Promise<void> {
  const isInput = await focusOf(page).evaluate((element) =>
    element.matches('dialog input')
  )
  t.ok(isInput, 'the dialog has the focus')

  for (let presses = 0; presses < 6; presses++) {
    await page.keyboard.press('Tab')
    // Between the last and the first element of the dialog, the browser's own
    // controls have the focus.
    const isKept = await page.evaluate(() =>
      document.activeElement?.matches('body, dialog *')
    )
    t.ok(isKept, 'and keeps it')
  }
}

t.test('the keyboard reaches everything, with a visible focus', async (t) => {
  const { url, key } = await startService(t)
  const { page, faults } = await openDocs(t, url)
  await tabTo(t, page, /^Authorize$/)
  await page.keyboard.press('Enter')
  await keepsFocus(t, page)
  await page.keyboard.press('Escape')
  const dialog = page.getByRole('dialog')
  await dialog.waitFor({ state: 'detached' })
  t.equal(await focusOf(page).innerText(), 'Authorize', 'and returns it')

  await page.keyboard.press('Enter')
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Logout' }).waitFor()
  await page.keyboard.press('Escape')

  for (const name of [/List all categories/, /^Try it out$/, /^Execute$/]) {
    await tabTo(t, page, name)
    await page.keyboard.press('Enter')
  }
  const status = operation(page, 'listCategories').locator(
    '.live-responses-table .response-col_status'
  )
  t.equal(await status.last().innerText(), '200')
  t.same(faults, [])
})

t.test(
  'the page displays the scope of an operation, finds operations by it, and displays a 403',
  async (t) => {
    const { url, keys } = await startService(t)
    const { page } = await openDocs(t, url)
    const reader = await keys.create('reader', { scopes: ['categories:read'] })
    await authorize(page, reader)
    await tryOut(page, 'createCategory')
    const block = operation(page, 'createCategory')
    const scope = block.locator('.scopes')
    t.equal(await scope.innerText(), 'Required scope: categories:write')
    t.notMatch(await block.innerText(), /x-scopes/)

    t.match(await execute(page, 'createCategory'), {
      status: '403',
      body: /"code": "insufficient_scope"/
    })
    t.same(await violations(page), [])

    await page.getByRole('searchbox').fill('orders:write')
    await operation(page, 'listOrders').waitFor({ state: 'detached' })
    t.equal(await operation(page, 'cancelOrder').count(), 1)
  }
)
