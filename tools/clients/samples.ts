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
  extension: string,
  program: string,
  folder: string
): Promise<void> {
  const file = operation.id + extension
  const source = readFileSync(path.join(root, 'samples', file), 'utf8')
  writeFileSync(path.join(folder, file), source.replaceAll(production, baseUrl))
  const command = `${program} ${file}`

  const exchanges = proxy.reset()
  const { code, output } = await run(t, command, folder)
  t.equal(code, 0, output)
  t.ok(exchanges.length > 0, 'it sends a request')
  for (const exchange of exchanges)
    checkExchange(t, operation, exchange, output)
  const last = exchanges.at(-1)?.response
  t.notMatch(last?.headers.link, 'rel="next"', 'it reads all pages')

  const rejected = proxy.reset()
  const failed = await run(t, command, folder, { API_KEY: '' })
  t.not(failed.code, 0, 'it fails without a key')
  t.match(failed.output, rejected[0]?.response?.body, 'it shows the error')
}

/** It must succeed, and its values must be printed. */
function checkExchange(
  t: Test,
  { method }: ApiOperation,
  { request, response }: Exchange,
  output: string
): void {
  t.equal(request.method, method)
  t.equal('idempotency-key' in request.headers, method === 'POST')

  const { statusCode = 0, body = '' } = response ?? {}
  t.ok(statusCode >= 200 && statusCode < 300, body)
  if (body === '') return
  JSON.parse(body, (_name, value: string | number | boolean | object) => {
    if (typeof value !== 'object')
      t.match(output.toLowerCase(), String(value).toLowerCase())
    return value
  })
}
