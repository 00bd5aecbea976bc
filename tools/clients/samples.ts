import { exec } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import type { Exchange, Proxy } from './proxy.ts'

type Operation = OpenAPIV3.OperationObject<{
  'x-codeSamples'?: { label: string; source: string }[]
}>

/** The base URL in the samples. The docs page replaces it too. */
const production = 'https://api.petstore.example/v1'

/** The samples that each operation must have, by label. */
const languages = {
  curl: { file: 'sample.sh', command: 'sh sample.sh' },
  TypeScript: { file: 'sample.ts', command: 'node --import tsx sample.ts' },
  Python: { file: 'sample.py', command: 'python sample.py' },
  Go: { file: 'main.go', command: 'go run main.go' }
}

const run = promisify(exec)

/** What a command prints, or `Command failed: …`. */
const outputOf = (
  command: string,
  options: { cwd: string; env: NodeJS.ProcessEnv }
) =>
  run(command, options).then(
    ({ stdout }) => stdout,
    (error: Error & { stdout: string }) => error.message + error.stdout
  )

/**
 * Runs the code samples of an OpenAPI document in `folder` against the service behind the proxy. `restore` makes the data of
 * tools/seed.ts the only data.
 *
 * @returns what is wrong
 */
export async function runSamples(
  yaml: string,
  folder: string,
  {
    proxy,
    restore,
    env
  }: { proxy: Proxy; restore: () => Promise<unknown>; env: NodeJS.ProcessEnv }
): Promise<string[]> {
  const problems: string[] = []
  const { paths } = parse(yaml) as OpenAPIV3.Document
  for (const [label, { file, command }] of Object.entries(languages)) {
    await restore()
    for (const [template, item] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(
        item as Record<string, Operation>
      )) {
        const { operationId = '', 'x-codeSamples': samples = [] } = operation
        const source =
          samples.find((sample) => sample.label === label)?.source ?? ''
        const cwd = path.join(folder, operationId)
        mkdirSync(cwd, { recursive: true })
        writeFileSync(
          path.join(cwd, file),
          source.replaceAll(production, proxy.baseUrl)
        )
        proxy.reset()
        const output = await outputOf(command, { cwd, env })
        const problem = problemIn(
          proxy.exchanges(),
          method.toUpperCase(),
          template,
          output
        )
        if (problem !== undefined)
          problems.push(`${operationId} in ${label}: ${problem}\n${output}`)
      }
    }
  }
  const types =
    'tsc --noEmit --strict --module nodenext --types node --skipLibCheck */sample.ts'
  return [...problems, await outputOf(types, { cwd: folder, env })].filter(
    Boolean
  )
}

/** What is wrong with the requests of a sample, if anything: they must succeed, and the sample must print each value received. */
function problemIn(
  exchanges: Exchange[],
  method: string,
  template: string,
  output: string
): string | undefined {
  if (output.startsWith('Command failed')) return 'it fails'
  if (exchanges.length === 0) return 'no request'
  for (const { status, body, idempotencyKey, ...exchange } of exchanges) {
    const sent = `${exchange.method} ${exchange.path}`
    if (
      !new RegExp(
        `^${method} /v1${template.replace(/{\w+}/g, '\\d+')}(\\?.*)?$`
      ).test(sent)
    )
      return `sends ${sent}`
    if (status < 200 || status > 299)
      return `the response has the status ${status}`
    if (method === 'POST' && !idempotencyKey) return 'no Idempotency-Key'
    const values: string[] = []
    if (body !== '')
      JSON.parse(
        body,
        (_name, value) =>
          typeof value === 'object' || values.push(String(value).toLowerCase())
      )
    const missing = values.find(
      (value) => !output.toLowerCase().includes(value)
    )
    if (missing !== undefined) return `does not print ${missing}`
  }
  return undefined
}
