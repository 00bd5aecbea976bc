import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { startService } from '../support/service.ts'

const { app, url } = await startService(t, {
  config: { ENVIRONMENT: 'staging' }
})

t.test(
  '/openapi.yaml is the file byte for byte, /openapi.json and /docs/json are the same document',
  async (t) => {
    const file = readFileSync('openapi.yaml')
    const { rawPayload, headers } = await app.inject('/openapi.yaml')
    t.same(
      [headers['content-type'], rawPayload],
      ['application/yaml; charset=utf-8', file]
    )
    const json = await app.inject('/openapi.json')
    t.same(
      [json.headers['content-type'], json.json()],
      ['application/json; charset=utf-8', parse(file.toString())]
    )
    t.equal((await app.inject('/docs/json')).body, json.body)
  }
)

t.test(
  '/ leads to the docs, which show their environment in its color',
  async (t) => {
    const page = await fetch(url)
    t.equal(page.url, `${url}/docs`)
    t.match(await page.text(), '<title>Pet Categories · staging</title>')
    for (const file of ['page.css', 'icon.svg'])
      t.match(
        (await app.inject(`/docs/static/theme/${file}`)).body,
        '#8a5a00',
        file
      )
  }
)

t.test(
  'the page loads only its own files, which exist, and does not require HTTPS',
  async (t) => {
    for (const base of ['/docs', '/docs/']) {
      const { body } = await app.inject(base)
      const files = [...body.matchAll(/(?:href|src)="([^"]+)"/g)].map(
        ([, file]) => String(file)
      )
      t.equal(files.length, 9)
      for (const file of [base, ...files]) {
        const { statusCode, headers } = await app.inject(
          new URL(file, `http://localhost${base}`).pathname
        )
        t.equal(statusCode, 200, file)
        const policy = String(headers['content-security-policy'])
        t.match(policy, "default-src 'none'; script-src 'self'")
        t.notMatch(policy, /upgrade-insecure-requests|https?:|unsafe|sha256/)
      }
    }
  }
)

t.test(
  'an unmet condition or range on a file of the docs is a 412 or 416 with the Error body',
  async (t) => {
    const get = (headers: Record<string, string>) =>
      app.inject({ url: '/docs/static/swagger-ui.css', headers })
    t.match((await get({ 'if-match': '"other"' })).json(), {
      code: 'precondition_failed',
      status: 412
    })
    const range = await get({ range: 'bytes=99999999-' })
    t.match(range.json(), { code: 'range_not_satisfiable', status: 416 })
    t.match(range.headers['content-range'], /^bytes \*\/\d+$/)
  }
)
