/// <reference lib="dom" />
import { execSync } from 'node:child_process'
import axe from 'axe-core'
import {
  type BrowserContextOptions,
  chromium,
  type Page
} from 'playwright-core'
import type { Test } from 'tap'

/** CI runs as root, where Chromium has no sandbox. */
const args = ['--no-sandbox', '--disable-background-networking']

export const desktop = { viewport: { width: 1440, height: 900 } }
export const phone = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true
}

/** The path of the browser. */
const executablePath =
  process.env['CHROMIUM'] ?? execSync('which chromium').toString().trim()

/**
 * Opens the docs page of the service at `url`. `faults` collects what a page
 * must not have: errors and warnings in the console. The browser writes failed
 * requests there, and those to other hosts, which the page may not send.
 */
export async function openDocs(
  t: Test,
  url: string,
  options: BrowserContextOptions = {}
) {
  const browser = await chromium.launch({ executablePath, args })
  t.teardown(() => browser.close())
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()))
      faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  await page.goto(`${url}/docs`)
  await operation(page, 'listCategories').waitFor()

  return { page, faults }
}

/** Finds the block of an operation. */
export const operation = (page: Page, id: string) =>
  page.locator(`.opblock[id$="-${id}"]`)

/** Waits until an operation is open. Returns its block. */
export async function isOpen(page: Page, id: string) {
  const block = operation(page, id)
  await block.locator('.responses-table').first().waitFor()
  return block
}

/** Opens the block of an operation and returns it. */
export async function openOperation(page: Page, id: string) {
  await operation(page, id).locator('.opblock-summary-control').click()
  return isOpen(page, id)
}

/** Opens the code samples of the open operations. */
export const openSamples = (page: Page) =>
  page.locator('details').evaluateAll((all) => {
    for (const details of all) details.setAttribute('open', '')
  })

/** Opens an operation for Try it out. */
export async function tryOut(page: Page, id: string): Promise<void> {
  const block = await openOperation(page, id)
  await block.getByRole('button', { name: 'Try it out' }).click()
}

/**
 * Sends the request of an open operation, with `body` in place of its example.
 * Returns the response as displayed.
 */
export async function execute(page: Page, id: string, body?: string) {
  const block = operation(page, id)
  if (body !== undefined) await block.locator('textarea').fill(body)
  const apiResponse = page.waitForResponse((response) =>
    response.url().includes('/v1/')
  )
  await block.getByRole('button', { name: 'Execute' }).click()
  // The page displays the previous response until this one arrives.
  const requestId = (await apiResponse).headers()['x-request-id'] ?? ''
  const response = block.locator('.live-responses-table tbody tr', {
    hasText: requestId
  })
  await response.waitFor()

  return {
    status: await response.locator('.response-col_status').innerText(),
    body: await response.locator('.highlight-code pre').first().innerText()
  }
}

/** Enters a key in the Authorize dialog. */
export async function authorize(page: Page, key: string): Promise<void> {
  await page.locator('.schemes .authorize').click()
  const dialog = page.locator('.modal-ux')
  await dialog.getByLabel('Value').fill(key)
  await dialog.getByText('Authorize', { exact: true }).click()
  await dialog.locator('.btn-done').click()
}

/**
 * By default, axe applies WCAG 2.2, levels A and AA, and its best practices,
 * except this rule.
 */
const options = { rules: { 'target-size': { enabled: true } } }

/**
 * Waits until no style is in transition. A button that is enabled again has its
 * full contrast only after 0.3 s.
 */
const waitForTransitions = (page: Page) =>
  page.evaluate(async () => {
    const transitions = document
      .getAnimations()
      .filter((animation) => animation instanceof CSSTransition)
    await Promise.allSettled(transitions.map(({ finished }) => finished))
  })

/**
 * Returns the violations that axe finds on the page in its present state.
 *
 * @param exceptions rules that the page may violate
 */
export async function violations(
  page: Page,
  exceptions: string[] = []
): Promise<string[]> {
  await waitForTransitions(page)
  // The debugger is exempt from the page's content security policy.
  await page.evaluate(axe.source)
  const results = await page.evaluate<axe.AxeResults>(
    `axe.run(${JSON.stringify(options)})`
  )

  return results.violations
    .filter(({ id }) => !exceptions.includes(id))
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target }) => `${id}: ${target.join(' ')}`)
    )
}
