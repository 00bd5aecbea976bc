import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { type Contract, readContract } from '../../src/contract.ts'
import { startService } from '../support/service.ts'

const dates = { deprecated: true, 'x-deprecated-at': '2023-06-30', 'x-sunset': '2024-01-31' }

/** Reads openapi.yaml with more in listCategories. */
function contractWith(t: Test, more: object): Contract {
  const document = parseDocument(readFileSync('openapi.yaml', 'utf8'))
  for (const [key, value] of Object.entries(more)) document.setIn(['paths', '/categories', 'get', key], value)
  const file = path.join(t.testdir(), 'openapi.yaml')
  writeFileSync(file, document.toString())
  return readContract(file)
}

t.test('every answer of a deprecated operation has Deprecation and Sunset', async (t) => {
  const { app, auth } = await startService(t, { contract: contractWith(t, dates) })
  const { etag } = (await app.inject({ url: '/v1/categories', headers: auth })).headers
  for (const [status, method, headers] of [
    [200, 'GET', auth],
    [200, 'HEAD', auth],
    [304, 'GET', { ...auth, 'if-none-match': String(etag) }],
    [401, 'GET', {}],
    [417, 'GET', { ...auth, expect: 'a miracle' }]
  ] as const) {
    const answer = await app.inject({ method, url: '/v1/categories', headers })
    t.equal(answer.statusCode, status)
    t.match(
      answer.headers,
      { deprecation: '@1688083200', sunset: 'Wed, 31 Jan 2024 00:00:00 GMT' },
      `${method} ${status}`
    )
    t.notOk('link' in answer.headers)
    if (method === 'HEAD') t.equal(answer.body, '')
  }
})

t.test('a sunset alone will do: the operation counts as deprecated for the six months before it', async (t) => {
  const contract = contractWith(t, { deprecated: true, 'x-sunset': '2024-01-31T12:00:00+01:00' })
  const { app } = await startService(t, { contract })
  const { headers } = await app.inject('/v1/categories')
  t.match(headers, { deprecation: '@1690801200', sunset: 'Wed, 31 Jan 2024 11:00:00 GMT' })
  const [operation] = contractWith(t, { deprecated: true, 'x-sunset': '2027-08-31' }).operations
  t.equal(operation?.deprecation?.at.toISOString(), '2027-02-28T00:00:00.000Z', 'the last day of a shorter month')
})

t.test('no other answer has them', async (t) => {
  const { app, auth } = await startService(t, { contract: contractWith(t, dates) })
  for (const [method, url] of [
    ['POST', '/v1/categories'],
    ['PUT', '/v1/categories'],
    ['GET', '/v1/none'],
    ['GET', '/livez']
  ] as const) {
    const { headers } = await app.inject({ method, url, headers: auth })
    t.notOk('deprecation' in headers || 'sunset' in headers, `${method} ${url}`)
  }
})

t.test('the link of a deprecated operation leads to its externalDocs', async (t) => {
  const contract = contractWith(t, { ...dates, externalDocs: { url: 'https://petstore.example/versioning' } })
  const { app, auth } = await startService(t, { contract })
  const { headers } = await app.inject({ url: '/v1/categories', headers: auth })
  t.equal(headers.link, '<https://petstore.example/versioning>; rel="deprecation sunset"')
})

t.test('a page of another origin may read them', async (t) => {
  const origin = 'https://app.example'
  const contract = contractWith(t, dates)
  const { app } = await startService(t, { contract, config: { CORS_ORIGINS: origin } })
  const { headers } = await app.inject({ url: '/v1/categories', headers: { origin } })
  t.match(headers['access-control-expose-headers'], /Deprecation, Sunset, Link/)
})

t.test('a deprecation without right dates stops the start, and names the operation', (t) => {
  const refused = (more: object, message: string) =>
    t.throws(() => contractWith(t, more), { message: `openapi.yaml: GET /categories ${message}` })
  const { deprecated, 'x-deprecated-at': at, 'x-sunset': sunset } = dates
  const mustBe = 'must be a date such as 2026-11-21, not'
  refused({ deprecated, 'x-deprecated-at': at }, `is deprecated: its x-sunset ${mustBe} nothing`)
  for (const wrong of [
    '2024-02-30',
    '2024-13-01',
    '31 Jan 2024',
    '2024-01-31T25:00:00Z',
    '2024-02-30T00:00:00Z',
    20240131
  ]) {
    refused({ ...dates, 'x-sunset': wrong }, `is deprecated: its x-sunset ${mustBe} ${JSON.stringify(wrong)}`)
  }
  refused({ ...dates, 'x-deprecated-at': 'soon' }, `is deprecated: its x-deprecated-at ${mustBe} "soon"`)
  refused({ ...dates, 'x-sunset': at }, 'is deprecated: its x-sunset must be later than its x-deprecated-at')
  refused({ ...dates, externalDocs: { url: '/docs' } }, 'is deprecated: the url of its externalDocs must be absolute')
  refused({ 'x-sunset': sunset }, 'has x-sunset and is not deprecated')
  refused({ ...dates, deprecated: false }, 'has x-deprecated-at and is not deprecated')
  t.end()
})
