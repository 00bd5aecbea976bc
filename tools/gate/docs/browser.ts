/// <reference lib="dom" />
import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

declare global {
  interface Window {
    axe: typeof axe
  }
}

/** Without a sandbox, as CI is root, and without what would look for the maker's hosts. */
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/**
 * The browser: CHROMIUM, else the first of the usual names that is in PATH.
 *
 * @throws Error that tells what to do when there is none
 */
function findChromium(): string {
  const given = process.env['CHROMIUM']
  if (given !== undefined) return given
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const folders = (process.env['PATH'] ?? '').split(path.delimiter)
  const found = names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isExecutable)
  if (found === undefined) throw new Error(`no ${names.join(', ')} in PATH: install Chromium, or name it in CHROMIUM`)
  return found
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A browser that is closed when the test ends; host names ending in `.test` are this machine. */
export async function openBrowser(t: Test): Promise<Browser> {
  const executablePath = findChromium()
  const browser = await chromium.launch({
    executablePath,
    args: [...args, '--host-resolver-rules=MAP *.test 127.0.0.1']
  })
  t.teardown(() => browser.close())
  return browser
}

export interface Docs {
  page: Page
  /** What a page must not have: errors and warnings in the console, what failed to load, requests to elsewhere. */
  faults: string[]
}

/** The docs page of the service at `url`, rendered. */
export async function openDocs(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Docs> {
  const page = await browser.newPage(options)
  const faults: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('requestfailed', (request) => faults.push(`failed: ${request.url()}`))
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== url && protocol !== 'data:') faults.push(`elsewhere: ${request.url()}`)
  })
  await page.goto(`${url}/docs`)
  await operation(page, 'listCategories').waitFor()
  return { page, faults }
}

/** The block of an operation, closed or open. */
export const operation = (page: Page, id: string) => page.locator(`.opblock[id$="-${id}"]`)

/** Opens an operation for Try it out. */
export async function tryOut(page: Page, id: string): Promise<void> {
  await operation(page, id).locator('.opblock-summary-control').click()
  await operation(page, id).getByRole('button', { name: 'Try it out' }).click()
}

/** Sends the request of an operation that is open, with `body` in place of its example, and gives the answer that is shown. */
export async function execute(page: Page, id: string, body?: string): Promise<{ status: string; body: string }> {
  const block = operation(page, id)
  if (body !== undefined) await block.getByRole('textbox', { name: 'Request body' }).fill(body)
  const sent = page.waitForResponse((response) => response.url().includes('/v1/'))
  await block.getByRole('button', { name: 'Execute' }).click()
  // An older answer is shown until this one is there.
  const requestId = (await sent).headers()['x-request-id'] ?? ''
  const answer = block.locator('.live-responses-table tbody tr', { hasText: requestId })
  return {
    status: await answer.locator('.response-col_status').innerText(),
    body: await answer.locator('.highlight-code pre').first().innerText()
  }
}

/** Enters a key by the Authorize dialog, in place of one that was entered before. */
export async function authorize(page: Page, key: string): Promise<void> {
  await page.locator('.schemes .authorize').first().click()
  const dialog = page.getByRole('dialog')
  const logout = dialog.getByRole('button', { name: 'Logout' })
  if (await logout.isVisible()) await logout.click()
  await dialog.getByLabel('Value').fill(key)
  await dialog.getByRole('button', { name: 'Authorize' }).click()
  await dialog.locator('.btn-done').click()
}

/** Rules that only Swagger UI's own markup violates, and that its plugin API cannot fix in a few lines. */
const upstream = {
  // The button that opens an operation contains the link to it.
  'nested-interactive': { enabled: false },
  // Each table of responses has the role of a region, without a name.
  'landmark-unique': { enabled: false }
}

/** Everything that axe finds wrong with the page as it is now, one line each. */
export async function violations(page: Page): Promise<string[]> {
  // By the debugger, which the page's policy does not bind.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate((rules) => window.axe.run({ rules }), upstream)
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target }) => `${id} (${impact}): ${target.join(' ')}`)
  )
}
