import { exec } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { OpenAPIV3 } from 'openapi-types'
import { parse } from 'yaml'
import type { Exchange, Proxy } from './proxy.ts'

type Samples = { 'x-codeSamples'?: { label: string; source: string }[] }

/** The base URL in the samples. The docs page replaces it too. */
const production = 'https://api.petstore.example/v1'

interface Language {
  /** The label of its samples: each operation must have one. */
  label: string
  file: string
  command: string
}

const languages: Language[] = [
  { label: 'curl', file: 'sample.sh', command: 'sh sample.sh' },
  {
    label: 'TypeScript',
    file: 'sample.ts',
    command: 'node --import tsx sample.ts'
  },
  { label: 'Python', file: 'sample.py', command: 'python sample.py' },
  { label: 'Go', file: 'main.go', command: 'go run main.go' }
]

const typeCheck =
  'tsc --noEmit --strict --module nodenext --types node --skipLibCheck */sample.ts'

/** What samples run on. */
export interface Stage {
  /** Has a folder for each operation. */
  folder: string
  proxy: Proxy
  /** Makes the data of tools/seed.ts the only data. */
  restore: () => Promise<unknown>
  env: NodeJS.ProcessEnv
}

/** An operation of the OpenAPI document. */
interface Operation {
  id: string
  method: string
  /** The path with parameters in braces. */
  template: string
  samples: NonNullable<Samples['x-codeSamples']>
}

function operationsOf(yaml: string): Operation[] {
  const { paths } = parse(yaml) as OpenAPIV3.Document<Samples>
  return Object.entries(paths).flatMap(([template, item]) =>
    Object.entries(
      item as Record<string, OpenAPIV3.OperationObject<Samples>>
    ).map(([method, operation]) => ({
      id: operation.operationId ?? '',
      method: method.toUpperCase(),
      template,
      samples: operation['x-codeSamples'] ?? []
    }))
  )
}

function chosenOf(operations: Operation[], ids: string[]): Operation[] {
  if (ids.length === 0) return operations

  return ids.map((id) => {
    const operation = operations.find((one) => one.id === id)
    if (operation === undefined)
      throw new Error(`openapi.yaml has no operation ${id}`)

    return operation
  })
}

const run = promisify(exec)

/** What a command prints, or `Command failed: …`. */
export async function outputOf(
  command: string,
  options: { cwd: string; env: NodeJS.ProcessEnv }
): Promise<string> {
  try {
    const { stdout } = await run(command, options)
    return stdout
  } catch (error) {
    const { message, stdout } = error as Error & { stdout: string }
    return message + stdout
  }
}

/** Runs one sample. Returns what is wrong with it. */
async function runSample(
  operation: Operation,
  { label, file, command }: Language,
  { folder, proxy, env }: Stage
): Promise<string[]> {
  const sample = operation.samples.find((one) => one.label === label)
  const source = (sample?.source ?? '').replaceAll(production, proxy.baseUrl)
  const cwd = path.join(folder, operation.id)
  mkdirSync(cwd, { recursive: true })
  writeFileSync(path.join(cwd, file), source)

  proxy.reset()
  const output = await outputOf(command, { cwd, env })
  const problem = problemOf(operation, proxy.exchanges, output)
  return problem === undefined
    ? []
    : [`${operation.id} in ${label}: ${problem}\n${output}`]
}

/** What is wrong with a run of a sample, or undefined. */
function problemOf(
  operation: Operation,
  exchanges: Exchange[],
  output: string
): string | undefined {
  if (output.startsWith('Command failed')) return 'it fails'
  if (exchanges.length === 0) return 'no request'
  for (const exchange of exchanges) {
    const problem =
      problemWithRequest(operation, exchange) ??
      problemWithResponse(exchange, output)
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemWithRequest(
  { method, template }: Operation,
  { method: sentMethod, path: sentPath, idempotencyKey }: Exchange
): string | undefined {
  const pathPattern = template.replace(/{\w+}/g, '\\d+')
  const expected = new RegExp(`^${method} /v1${pathPattern}(\\?.*)?$`)
  const sent = `${sentMethod} ${sentPath}`
  if (!expected.test(sent)) return `sends ${sent}`
  if (method === 'POST' && idempotencyKey === '') return 'no Idempotency-Key'
  return undefined
}

/** A request must succeed, and the sample must print each value received. */
function problemWithResponse(
  { status, body }: Exchange,
  output: string
): string | undefined {
  if (status < 200 || status > 299)
    return `the response has the status ${status}`

  const printed = output.toLowerCase()
  const missing = valuesIn(body).find((value) => !printed.includes(value))
  return missing === undefined ? undefined : `does not print ${missing}`
}

/** The values in a JSON text, in lower case. */
function valuesIn(body: string): string[] {
  const values: string[] = []
  if (body === '') return values

  JSON.parse(
    body,
    (_name, value: string | number | boolean | object | null) => {
      if (typeof value !== 'object') values.push(String(value).toLowerCase())
      return value
    }
  )
  return values
}

/**
 * Runs the code samples of an OpenAPI document against the service behind the
 * proxy.
 *
 * @param ids of the operations; empty: all
 * @returns what is wrong
 * @throws Error for an id that no operation has
 */
export async function runSamples(
  yaml: string,
  stage: Stage,
  ids: string[]
): Promise<string[]> {
  const operations = chosenOf(operationsOf(yaml), ids)
  const problems: string[] = []
  for (const language of languages) {
    await stage.restore()
    for (const operation of operations)
      problems.push(...(await runSample(operation, language, stage)))
  }
  const { folder, env } = stage
  const typeErrors = await outputOf(typeCheck, { cwd: folder, env })
  return typeErrors === '' ? problems : [...problems, typeErrors]
}
