// The programs of openapi.yaml, as a reader copies them, also with the response
// of a later version, which has one more property; and the retries of retry.ts.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import createClient from 'openapi-fetch'
import t from 'tap'
import type { paths } from '../../generated/types.ts'
import { temporaryFolder } from '../../test/support/database.ts'
import { document } from '../../test/support/examples.ts'
import { listCategories } from '../../test/support/requests.ts'
import { startService } from '../../test/support/service.ts'
import { codeIn } from '../markdown-commands.ts'
import { laterVersion, venvShellIn } from './support.ts'
import { fetchWithRetries } from './typescript/retry.ts'

/** The blocks of code in `info.description`, in their order. */
const [
  curl = '',
  forTypeScript = '',
  typescript = '',
  forPython = '',
  python = ''
] = codeIn(document.info.description, '\\w+')
const firstCalls = {
  curl: ['', curl],
  TypeScript: [forTypeScript, 'npx tsx first.mts'],
  Python: [forPython, 'python first.py']
} as const

for (const [language, [install, call]] of Object.entries(firstCalls)) {
  t.test(`the first call of openapi.yaml in ${language}`, async (t) => {
    const service = await startService(t)
    const cwd = temporaryFolder(t)
    const sh = venvShellIn(cwd, {
      BASE_URL: `${service.url}/v1`,
      API_KEY: service.apiKey
    })
    writeFileSync(path.join(cwd, 'first.mts'), typescript)
    writeFileSync(path.join(cwd, 'first.py'), python)

    await sh(install)
    t.match(await sh(call), /\b1\b/)
    t.same((await listCategories(service)).json(), [{ id: 1, name: 'Rabbit' }])

    const BASE_URL = await laterVersion(t)
    t.match(await sh(call, { BASE_URL }), /\b7\b/)
  })
}

t.test('a lost response creates once, and Retry-After counts', async (t) => {
  // A date has no milliseconds.
  const date = Math.ceil(Date.now() / 1000) * 1000 + 2000
  const headers = { 'Retry-After': new Date(date).toUTCString() }
  /** What happens to the next responses. */
  const faults = [
    () => new Response(null, { status: 503, headers }),
    () => Promise.reject(new TypeError('reset')),
    () => new Response(new ReadableStream({ pull: (body) => body.error() }))
  ]
  const times: number[] = []
  const { fetch } = globalThis
  const losing: typeof fetch = async (...request) => {
    times.push(Date.now())
    const response = await fetch(...request)
    return faults.shift()?.() ?? response
  }
  t.intercept(globalThis, 'fetch', { value: losing })

  const service = await startService(t)
  const client = createClient<paths>({
    baseUrl: `${service.url}/v1`,
    fetch: fetchWithRetries,
    headers: service.auth
  })
  const created = await client.POST('/categories', { body: { name: 'Rabbit' } })
  t.same(created.data, { id: 1, name: 'Rabbit' })
  t.same((await listCategories(service)).json(), [created.data])
  t.equal(times.length, 4)
  t.ok(Number(times[1]) >= date)
})

t.test('each attempt has the options of Node.js, and can end', async (t) => {
  const aborting = new AbortController()
  let count = 0
  const dispatch = () => {
    count += 1
    if (count === 2) setImmediate(() => aborting.abort())
    throw new Error('not sent')
  }
  const options: object = {
    method: 'POST',
    body: '',
    dispatcher: { dispatch },
    signal: aborting.signal
  }
  const response = fetchWithRetries('http://none.example', options)
  await t.rejects(response, { name: 'AbortError' })
  t.equal(count, 2)
})
