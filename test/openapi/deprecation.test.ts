import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { type Contract, readContract } from '../../src/openapi/document.ts'
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

t.test('a deprecation without dates is served: each header comes with its own extension', async (t) => {
  const headersWith = async (more: object) => {
    const { app } = await startService(t, { contract: contractWith(t, { deprecated: true, ...more }) })
    const { deprecation, sunset, link } = (await app.inject('/v1/categories')).headers
    return { deprecation, sunset, link }
  }
  const none = { deprecation: undefined, sunset: undefined, link: undefined }
  t.same(await headersWith({}), none)
  t.same(await headersWith({ 'x-deprecated-at': '2023-06-30' }), { ...none, deprecation: '@1688083200' })
  t.same(await headersWith({ 'x-sunset': '2024-01-31T12:00:00+01:00' }), {
    ...none,
    sunset: 'Wed, 31 Jan 2024 11:00:00 GMT'
  })
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
  const contract = contractWith(t, { ...dates, externalDocs: { url: 'https://petstore.example/versioning' } })
  const { app } = await startService(t, { contract, config: { CORS_ORIGINS: origin } })
  const { headers } = await app.inject({ url: '/v1/categories', headers: { origin } })
  t.match(headers['access-control-expose-headers'], /Deprecation, Sunset, Link/)
})

t.test('a deprecation with an invalid date is rejected at start, with the name of the operation', (t) => {
  for (const extension of ['x-deprecated-at', 'x-sunset']) {
    for (const wrong of ['soon', '2024-02-30', '2024-13-01', '31 Jan 2024', '2024-01-31T25:00:00Z', 20240131]) {
      t.throws(() => contractWith(t, { ...dates, [extension]: wrong }), {
        message: `openapi.yaml: GET /categories: ${extension} must be a date such as 2026-11-21, not ${JSON.stringify(wrong)}`
      })
    }
  }
  t.throws(() => contractWith(t, { ...dates, externalDocs: { url: 'https://petstore.example/ä' } }), {
    message: 'openapi.yaml: GET /categories: externalDocs.url must match format "uri-reference"'
  })
  t.end()
})
