import { exec } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import {
  type Operation,
  readApiDocument
} from '../../src/framework/openapi/document.ts'
import type { Exchange, Proxy } from './proxy.ts'

const root = path.resolve(import.meta.dirname, '../..')

/** The base URL in the samples. The docs page replaces it too. */
const production = 'https://api.petstore.example/v1'

interface Language {
  /** Of the files of its samples: each operation must have one. */
  extension: string
  /** The program that runs a file. */
  program: string
  /** Where a sample shows the error of the service. */
  errors: 'stdout' | 'stderr'
}

const languages: Language[] = [
  // curl writes the body of an error to where it writes that of a success.
  { extension: '.sh', program: 'sh', errors: 'stdout' },
  { extension: '.ts', program: 'node --import tsx', errors: 'stderr' },
  { extension: '.py', program: 'python', errors: 'stderr' },
  { extension: '.go', program: 'go run', errors: 'stderr' }
]

/** What samples run on. */
export interface Stage {
  /** Has the samples, with the base URL of the proxy. */
  folder: string
  proxy: Proxy
  /** Makes the data of tools/seed.ts the only data. */
  restore: () => Promise<unknown>
  env: NodeJS.ProcessEnv
  /** An API key without any of these scopes. */
  keyWithout: (scopes: string[]) => string
}

/** How a program has ended. */
export interface Result {
  exitCode: number
  stdout: string
  stderr: string
}

/** A sample, in the folder of the stage. */
interface Sample {
  operation: Operation
  language: Language
  /** Its name, such as `listPets.py`. */
  file: string
}

function operationsOf(ids: string[]): Operation[] {
  const { operations } = readApiDocument(path.join(root, 'openapi.yaml'))
  if (ids.length === 0) return operations

  return ids.map((id) => {
    const operation = operations.find((one) => one.id === id)
    if (operation === undefined)
      throw new Error(`openapi.yaml has no operation ${id}`)
    return operation
  })
}

const run = promisify(exec)

/** How a command ends, and what it prints. */
export async function resultOf(
  command: string,
  options: { cwd: string; env: NodeJS.ProcessEnv }
): Promise<Result> {
  try {
    return { exitCode: 0, ...(await run(command, options)) }
  } catch (error) {
    const { code, stdout, stderr } = error as Error & {
      code: number
      stdout: string
      stderr: string
    }
    return { exitCode: code, stdout, stderr }
  }
}

function copySample({ file }: Sample, { folder, proxy }: Stage): void {
  const source = readFileSync(path.join(root, 'samples', file), 'utf8')
  const pasted = source.replaceAll(production, proxy.baseUrl)
  writeFileSync(path.join(folder, file), pasted)
}

/** Runs a sample with the key of the stage, or with this one. */
async function runSample(
  { language, file }: Sample,
  { folder, proxy, env }: Stage,
  key = env['API_KEY']
): Promise<Result> {
  proxy.reset()
  const command = `${language.program} ${file}`
  return resultOf(command, { cwd: folder, env: { ...env, API_KEY: key } })
}

/** Runs a sample three times. Returns what is wrong with it. */
async function trySample(sample: Sample, stage: Stage): Promise<string[]> {
  const { operation, file } = sample
  const problems: string[] = []
  const report = (caller: string, problem: string | undefined, is: Result) => {
    if (problem === undefined) return
    problems.push(`${file} ${caller}: ${problem}\n${is.stdout}${is.stderr}`)
  }
  copySample(sample, stage)

  const done = await runSample(sample, stage)
  report('with a key', problemOfSuccess(sample, stage, done), done)

  const unknown = await runSample(sample, stage, '')
  const noKey = problemOfError(sample, stage, unknown, 401)
  report('without a key', noKey, unknown)

  const limitedKey = stage.keyWithout(operation.scopes)
  const forbidden = await runSample(sample, stage, limitedKey)
  const noScope = problemOfError(sample, stage, forbidden, 403)
  report('with a key that lacks the scope', noScope, forbidden)

  return problems
}

/** What is wrong with a run that must succeed, or undefined. */
function problemOfSuccess(
  { operation }: Sample,
  { proxy: { exchanges } }: Stage,
  { exitCode, stdout }: Result
): string | undefined {
  if (exitCode !== 0) return `it exits with ${exitCode}`
  if (exchanges.length === 0) return 'no request'

  for (const exchange of exchanges) {
    const problem =
      problemWithRequest(operation, exchange) ??
      problemWithResponse(exchange, stdout)
    if (problem !== undefined) return problem
  }

  const hasNext = exchanges.at(-1)?.hasNextPage

  return hasNext ? 'it does not read all pages' : undefined
}

/** What is wrong with a run that must fail with this status, or undefined. */
function problemOfError(
  { operation, language }: Sample,
  { proxy: { exchanges } }: Stage,
  result: Result,
  status: number
): string | undefined {
  const [exchange] = exchanges
  if (exchange === undefined) return 'no request'
  if (exchanges.length > 1) return `${exchanges.length} requests`
  if (exchange.status !== status)
    return `the response has the status ${exchange.status}`
  if (result.exitCode === 0) return 'it exits with 0'
  if (!result[language.errors].includes(exchange.body))
    return `${language.errors} lacks ${exchange.body}`

  return problemWithRequest(operation, exchange)
}

function problemWithRequest(
  { method, path: template }: Operation,
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

/** Returns which samples in Go gofmt would change. */
async function problemsOfFormat({ folder, env }: Stage): Promise<string[]> {
  const { exitCode, stdout, stderr } = await resultOf('gofmt -l .', {
    cwd: folder,
    env
  })
  const isFormatted = exitCode === 0 && stdout === ''

  return isFormatted ? [] : [`gofmt -l samples: ${stdout}${stderr}`]
}

/**
 * Runs the files of samples/ against the service behind the proxy: with a key,
 * without one, and with one that lacks the scope.
 *
 * @param ids of the operations; empty: all
 * @returns what is wrong
 * @throws Error for an id that no operation has
 */
export async function runSamples(
  stage: Stage,
  ids: string[]
): Promise<string[]> {
  const operations = operationsOf(ids)
  rmSync(stage.folder, { recursive: true, force: true })
  mkdirSync(stage.folder, { recursive: true })

  const problems: string[] = []
  for (const language of languages) {
    await stage.restore()
    for (const operation of operations) {
      const file = operation.id + language.extension
      const sample = { operation, language, file }
      problems.push(...(await trySample(sample, stage)))
    }
  }

  return [...problems, ...(await problemsOfFormat(stage))]
}
