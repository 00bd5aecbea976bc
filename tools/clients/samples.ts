import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import type { ApiOperation } from '../../src/framework/openapi/document.ts'
import type { Exchange } from './proxy.ts'
import { baseUrl, proxy, root, run } from './stage.ts'

/** The base URL in the samples. The docs page replaces it too. */
const production = 'https://api.petstore.example/v1'

/** The program that runs a sample, by the extension of its file. */
export const languages = {
  '.sh': 'sh',
  '.ts': 'node --import tsx',
  '.py': 'python',
  '.go': 'go run'
}

/** Runs a sample with a key, and without one. */
export async function trySample(
  t: Test,
  operation: ApiOperation,
  extension: keyof typeof languages,
  folder: string
): Promise<void> {
  const file = operation.id + extension
  const source = readFileSync(path.join(root, 'samples', file), 'utf8')
  writeFileSync(path.join(folder, file), source.replaceAll(production, baseUrl))
  const command = `${languages[extension]} ${file}`

  const exchanges = proxy.reset()
  const { code, output } = await run(t, command, folder)
  t.equal(code, 0, output)
  t.ok(exchanges.length > 0, 'it sends a request')
  for (const exchange of exchanges) {
    checkRequest(t, operation, exchange)
    checkResponse(t, exchange, output)
  }
  t.notOk(exchanges.at(-1)?.hasNextPage, 'it reads all pages')

  const rejected = proxy.reset()
  const failed = await run(t, command, folder, { API_KEY: '' })
  t.match(rejected, [{ status: 401 }])
  t.equal(rejected.length, 1, 'without a key, it sends one request')
  t.not(failed.code, 0, 'it fails without a key')
  t.match(failed.output, rejected[0]?.body, 'it shows the error')
}

function checkRequest(
  t: Test,
  { method, path: template }: ApiOperation,
  { request, hasIdempotencyKey }: Exchange
): void {
  const pathPattern = template.replace(/{\w+}/g, '\\d+')
  t.match(request, new RegExp(`^${method} /v1${pathPattern}(\\?.*)?$`))
  t.equal(hasIdempotencyKey, method === 'POST')
}

/** A request must succeed, and the sample must print each value received. */
function checkResponse(
  t: Test,
  { status, body }: Exchange,
  output: string
): void {
  t.equal(Math.trunc(status / 100), 2, body)
  if (body === '') return

  const printed = output.toLowerCase()
  JSON.parse(body, (_name, value: string | number | boolean | object) => {
    if (typeof value !== 'object') {
      const text = String(value).toLowerCase()
      t.ok(printed.includes(text), `it prints ${text}`)
    }
    return value
  })
}
