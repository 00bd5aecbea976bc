import assert from 'node:assert/strict'
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
  /** Where commands run. */
  folder: string
  proxy: Proxy
  /** Makes the data of tools/seed.ts the only data. */
  restore: () => Promise<unknown>
  env: NodeJS.ProcessEnv
}

/** How a program has ended. */
interface Result {
  exitCode: number
  stdout: string
  stderr: string
}

/** How a command ends, and what it prints. */
export async function resultOf(
  command: string,
  { folder, env }: Pick<Stage, 'folder' | 'env'>
): Promise<Result> {
  const options = { cwd: folder, env }
  try {
    return { exitCode: 0, ...(await promisify(exec)(command, options)) }
  } catch (error) {
    const { code, stdout, stderr } = error as Error & {
      code: number
      stdout: string
      stderr: string
    }
    return { exitCode: code, stdout, stderr }
  }
}

/** Empties the folder of a stage, and restores its data. */
export async function prepare({ folder, restore }: Stage): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await restore()
}

/**
 * Runs a sample with a key and without one.
 *
 * @throws Error that says what is wrong with it
 */
async function trySample(
  operation: Operation,
  { extension, program, errors }: Language,
  stage: Stage
): Promise<void> {
  const { folder, proxy, env } = stage
  const file = operation.id + extension
  const source = readFileSync(path.join(root, 'samples', file), 'utf8')
  const pasted = source.replaceAll(production, proxy.baseUrl)
  writeFileSync(path.join(folder, file), pasted)
  const command = `${program} ${file}`

  proxy.reset()
  const done = await resultOf(command, stage)
  assert.equal(done.exitCode, 0, done.stdout + done.stderr)
  assert.notEqual(proxy.exchanges.length, 0, 'it sends no request')
  for (const exchange of proxy.exchanges) {
    checkRequest(operation, exchange)
    checkResponse(exchange, done.stdout)
  }
  const isLast = !proxy.exchanges.at(-1)?.hasNextPage
  assert.ok(isLast, 'it does not read all pages')

  proxy.reset()
  const withoutKey = { folder, env: { ...env, API_KEY: '' } }
  const rejected = await resultOf(command, withoutKey)
  const [{ status, body } = { status: 0, body: '' }, ...more] = proxy.exchanges
  assert.deepEqual([status, more], [401, []], 'it sends one request')
  assert.notEqual(rejected.exitCode, 0, 'it succeeds without a key')
  assert.ok(rejected[errors].includes(body), `${errors} lacks ${body}`)
}

function checkRequest(
  { method, path: template }: Operation,
  exchange: Exchange
): void {
  const pathPattern = template.replace(/{\w+}/g, '\\d+')
  const expected = new RegExp(`^${method} /v1${pathPattern}(\\?.*)?$`)
  assert.match(`${exchange.method} ${exchange.path}`, expected)
  const hasKey = exchange.idempotencyKey !== ''
  assert.ok(method !== 'POST' || hasKey, 'it sends no Idempotency-Key')
}

/** A request must succeed, and the sample must print each value received. */
function checkResponse({ status, body }: Exchange, output: string): void {
  assert.equal(Math.trunc(status / 100), 2, body)
  if (body === '') return

  const printed = output.toLowerCase()
  JSON.parse(
    body,
    (_name, value: string | number | boolean | object | null) => {
      if (typeof value !== 'object') {
        const text = String(value).toLowerCase()
        assert.ok(printed.includes(text), `it does not print ${text}`)
      }
      return value
    }
  )
}

/**
 * Runs the files of samples/ against the service behind the proxy, with a key
 * and without one.
 *
 * @param ids of the operations; empty: all
 * @returns what is wrong
 */
export async function runSamples(
  stage: Stage,
  ids: string[]
): Promise<string[]> {
  const { operations } = readApiDocument(path.join(root, 'openapi.yaml'))
  const chosen = operations.filter(
    ({ id }) => ids.length === 0 || ids.includes(id)
  )
  const problems: string[] = []
  if (chosen.length < ids.length)
    problems.push(`openapi.yaml lacks an operation of ${ids.join(', ')}`)

  for (const language of languages) {
    await prepare(stage)
    for (const operation of chosen) {
      try {
        await trySample(operation, language, stage)
      } catch (error) {
        const { message } = error as Error
        problems.push(`${operation.id}${language.extension}: ${message}`)
      }
    }
  }

  return problems
}
